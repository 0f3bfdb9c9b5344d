import { createHash, randomUUID } from "node:crypto";
import { mkdir, readFile, rename, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { z } from "zod";

/** The last good list of a source, as it is kept on disk. */
export interface StoredList {
  readonly fetchedAtMs: number;
  /** Tells one content of the document from another. */
  readonly version: string;
  readonly etag: string | undefined;
  /** Where the document was found in the end, after redirects. */
  readonly url: string;
  readonly prefixes: readonly string[];
}

/** To which source a list belongs: a key that may hold a password, and a name without it. */
export interface ListOwner {
  readonly key: string;
  readonly label: string;
}

/** Keeps the last good list of each source across restarts. */
export interface ListStore {
  /** Undefined when there is none, or none that can be read: a torn file is as good as no file. */
  read(owner: ListOwner): Promise<StoredList | undefined>;
  /** Replaces the list, whole or not at all. Rejects when the folder cannot be written. */
  write(owner: ListOwner, list: StoredList): Promise<void>;
}

const MAX_FILE_BYTES = 32 * 1024 * 1024;

const fileSchema = z.strictObject({
  format: z.literal("crawlwall.io/list/v1"),
  source: z.string(),
  fetched_at: z.iso.datetime(),
  version: z.string(),
  etag: z.string().optional(),
  url: z.string(),
  prefixes: z.array(z.string()).min(1),
});

/** Opens the store in a folder, which is made when the first list is written. */
export function openListStore(folder: string): ListStore {
  return {
    read: (owner) => read(folder, owner),
    write: (owner, list) => write(folder, owner, list),
  };
}

function fileOf(folder: string, { key }: ListOwner): string {
  return join(folder, `${createHash("sha256").update(key).digest("hex").slice(0, 32)}.json`);
}

async function read(folder: string, owner: ListOwner): Promise<StoredList | undefined> {
  try {
    const text = await readFile(fileOf(folder, owner), "utf8");
    if (text.length > MAX_FILE_BYTES) return undefined;
    const { data } = fileSchema.safeParse(JSON.parse(text));
    if (data === undefined || data.source !== owner.label) return undefined;
    return {
      fetchedAtMs: Date.parse(data.fetched_at),
      version: data.version,
      etag: data.etag,
      url: data.url,
      prefixes: data.prefixes,
    };
  } catch {
    return undefined;
  }
}

async function write(folder: string, owner: ListOwner, list: StoredList): Promise<void> {
  const file: z.infer<typeof fileSchema> = {
    format: "crawlwall.io/list/v1",
    source: owner.label,
    fetched_at: new Date(list.fetchedAtMs).toISOString(),
    version: list.version,
    url: list.url,
    prefixes: [...list.prefixes],
    ...(list.etag === undefined ? {} : { etag: list.etag }),
  };
  await mkdir(folder, { recursive: true, mode: 0o700 });
  const path = fileOf(folder, owner);
  const draft = `${path}.${randomUUID()}`;
  try {
    await writeFile(draft, JSON.stringify(file), { mode: 0o600, flush: true });
    await rename(draft, path);
  } catch (error) {
    await rm(draft, { force: true });
    throw error;
  }
}
