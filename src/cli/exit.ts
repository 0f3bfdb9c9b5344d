import type { Fault } from "../core/policy/fault.ts";
import { formatFault } from "../core/policy/fault.ts";

/** Exit codes (contract 7): fine; it ran and found something; it could not run. */
export const EXIT = { fine: 0, found: 1, cannotRun: 2 } as const;

export type ExitCode = (typeof EXIT)[keyof typeof EXIT];

/** A command that cannot run: wrong usage, a missing file, no network. Holds every line to print. */
export class CannotRun extends Error {
  readonly lines: readonly string[];

  constructor(lines: readonly string[], options?: ErrorOptions) {
    super(lines.join("\n"), options);
    this.name = "CannotRun";
    this.lines = lines;
  }
}

/** A `CannotRun` that prints each fault with its place. */
export function cannotRunFor(faults: readonly Fault[]): CannotRun {
  return new CannotRun(faults.map(formatFault));
}

/** Prints one JSON document on stdout, which carries nothing else. */
export function printJson(value: unknown): void {
  process.stdout.write(`${JSON.stringify(value, undefined, 2)}\n`);
}

/** Prints a line for people on stderr, so that stdout stays what the command promises. */
export function note(line: string): void {
  process.stderr.write(`${line}\n`);
}

/**
 * Runs a command's work and sets the process's exit code. Commands are written as
 * `.action((...args) => runCommand(() => work(...args)))`.
 */
export async function runCommand(work: () => ExitCode | Promise<ExitCode>): Promise<void> {
  try {
    process.exitCode = await work();
  } catch (error) {
    if (!(error instanceof CannotRun)) throw error;
    for (const line of error.lines) note(`crawlwall: ${line}`);
    process.exitCode = EXIT.cannotRun;
  }
}
