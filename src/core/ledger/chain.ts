import { hash } from "node:crypto";
import { type EventRow, rowToCanonicalJson } from "./row.ts";

/** How hashes are made; a later way gets a later number, and old rows keep theirs. */
export const HASH_VERSION = 1;

/** What the first row of a chain names as its predecessor. */
const GENESIS_HASH: string = "0".repeat(64);

/** The last link of a writer's chain. */
export interface ChainHead {
  /** From 1; 0 for a chain without rows. */
  readonly seq: number;
  readonly hash: string;
}

/** A chain that nothing was written to. */
export const EMPTY_CHAIN: ChainHead = { seq: 0, hash: GENESIS_HASH };

/** The columns that tie a row to the one before it. */
export interface ChainLink {
  readonly writer_id: string;
  readonly seq: number;
  readonly prev_hash: string;
  readonly hash: string;
  readonly hash_version: number;
}

/**
 * The hash of one row: SHA-256, in hex, over five lines: `crawlwall-ledger/1`, the writer, the
 * sequence number, the hash of the row before, and the canonical JSON (RFC 8785) of the event.
 */
export function rowHash(writerId: string, seq: number, prevHash: string, row: EventRow): string {
  const text = `crawlwall-ledger/${HASH_VERSION}\n${writerId}\n${seq}\n${prevHash}\n${rowToCanonicalJson(row)}`;
  return hash("sha256", text, "hex");
}

/** The link that puts a row at the end of a writer's chain. */
export function linkRow(writerId: string, head: ChainHead, row: EventRow): ChainLink {
  const seq = head.seq + 1;
  return {
    writer_id: writerId,
    seq,
    prev_hash: head.hash,
    hash: rowHash(writerId, seq, head.hash, row),
    hash_version: HASH_VERSION,
  };
}

/**
 * The writer of a site's events: each instance keeps one chain a site, so that each site's oldest
 * events can go without a gap in another chain. `-` stands for hosts that no site speaks for.
 */
export function writerIdOf(instance: string, siteId: string | null): string {
  return `${instance}.${siteId ?? "-"}`;
}
