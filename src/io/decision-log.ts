import type { Writable } from "node:stream";
import pino from "pino";
import type { DecisionEvent } from "../core/event.ts";
import { type IpPrivacy, maskAddress } from "../core/mask-address.ts";

declare module "sonic-boom" {
  /** What it also takes where its content are bytes. */
  interface SonicBoom {
    write(bytes: Buffer): boolean;
  }
}

/** The lines that operators tail: one JSON object a decision. */
export interface DecisionLog {
  /** Writes an event. Never throws, never waits. */
  record(event: DecisionEvent): void;
  /** Opens the file again, after it was rotated. */
  reopen(): void;
  /** Lines that could not be kept because the reader or the disk did not keep up. */
  dropped(): number;
  /** Writes what is waiting and closes. */
  close(): Promise<void>;
}

export interface DecisionLogOptions {
  /** Undefined for stdout. */
  readonly file: string | undefined;
  readonly ip: IpPrivacy;
  readonly hashAddress: (ip: string) => string;
  /** Told once of each failure to write; the log goes on. */
  readonly onError: (error: Error) => void;
}

/** What may wait for a slow reader or disk before lines are dropped and counted. */
const MAX_WAITING_BYTES = 64 * 1024 * 1024;

// A write costs as much as a decision: lines wait for others, but no longer than somebody who watches
// the log would notice.
const BATCH_MS = 20;
const BATCH_LENGTH = 64 * 1024;

/** Opens the decision log. Rejects where the file cannot be opened. */
export async function openDecisionLog(options: DecisionLogOptions): Promise<DecisionLog> {
  const isTerminal = options.file === undefined && process.stdout.isTTY;
  return isTerminal ? openPretty(options) : openLines(options);
}

function openLines(options: DecisionLogOptions): DecisionLog {
  const mask = maskWith(options);
  const destination = pino.destination({
    dest: options.file ?? 1,
    mkdir: true,
    sync: false,
    maxLength: MAX_WAITING_BYTES,
    // Texts would be encoded anew at each step on their way.
    contentMode: "buffer",
  });
  let dropped = 0;
  destination.on("drop", (lines: Buffer) => {
    dropped += countLines(lines);
  });
  destination.on("error", options.onError);
  let waiting = "";
  let timer: NodeJS.Timeout | undefined;
  const write = (): void => {
    clearTimeout(timer);
    timer = undefined;
    if (waiting !== "") destination.write(Buffer.from(waiting));
    waiting = "";
  };
  return {
    record: (event) => {
      waiting += `${JSON.stringify(mask(event))}\n`;
      if (waiting.length >= BATCH_LENGTH) write();
      else timer ??= setTimeout(write, BATCH_MS);
    },
    reopen: () => {
      write();
      if (options.file !== undefined) destination.reopen();
    },
    dropped: () => dropped,
    close: () =>
      new Promise((resolve) => {
        write();
        destination.once("close", resolve);
        // A reader that is gone or a disk that is full must not keep the process from ending.
        destination.once("error", () => resolve());
        destination.end();
      }),
  };
}

function countLines(lines: Buffer): number {
  let count = 0;
  for (let at = lines.indexOf("\n"); at >= 0; at = lines.indexOf("\n", at + 1)) count += 1;
  return count;
}

function maskWith({
  ip,
  hashAddress,
}: DecisionLogOptions): (event: DecisionEvent) => DecisionEvent {
  return (event) =>
    ip === "full" ? event : { ...event, ip: maskAddress(event.ip, ip, hashAddress) };
}

/** For a person at a terminal: one line a decision, with what he looks for first. */
async function openPretty(options: DecisionLogOptions): Promise<DecisionLog> {
  const mask = maskWith(options);
  // Loaded for a terminal alone: a service must be back quickly after a restart.
  const { default: pretty } = await import("pino-pretty");
  const stream: Writable = pretty({
    colorize: true,
    hideObject: true,
    sync: true,
    ignore: "level,time",
    messageFormat: (event) => describe(event),
  });
  return {
    record: (event) => stream.write(`${JSON.stringify(mask(event))}\n`),
    reopen: () => undefined,
    dropped: () => 0,
    close: async () => undefined,
  };
}

function describe(event: Readonly<Record<string, unknown>>): string {
  const { ts, status, action, would_block: wouldBlock, rule_id: rule, bot_id: bot } = event;
  const { verification, ip, method, host, path, reason } = event;
  const verdict = wouldBlock === true ? `would ${String(action)}` : String(action);
  const why = typeof reason === "string" ? ` (${reason})` : "";
  const what = `${String(method)} ${String(host)}${String(path)}`;
  return `${String(ts)} ${String(status)} ${verdict}${why} ${String(rule)} | ${String(bot)} ${String(verification)} ${String(ip ?? "-")} | ${what}`;
}
