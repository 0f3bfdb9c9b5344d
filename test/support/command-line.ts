import { vi } from "vitest";
import { main } from "../../src/cli/main.ts";

/** What a command left behind. */
export interface Ran {
  readonly code: number;
  /** What it wrote to stdout. */
  readonly out: string;
  /** What it wrote to stderr. */
  readonly notes: string;
}

/** Runs the command line in this process and listens to what it writes. */
export async function runCommandLine(args: readonly string[]): Promise<Ran> {
  const out: string[] = [];
  const notes: string[] = [];
  const spies = [listen(process.stdout, out), listen(process.stderr, notes)];
  try {
    process.exitCode = undefined;
    const code = await main(args);
    return { code, out: out.join(""), notes: notes.join("") };
  } finally {
    // A code that a command sets is not the test runner's.
    process.exitCode = undefined;
    for (const spy of spies) spy.mockRestore();
  }
}

function listen(stream: NodeJS.WriteStream, written: string[]): { mockRestore(): void } {
  return vi.spyOn(stream, "write").mockImplementation((chunk) => written.push(String(chunk)) > 0);
}
