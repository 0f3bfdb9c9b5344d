import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";

/** A program that runs beside the test. */
export interface RunningProgram {
  readonly child: ChildProcess;
  /** All that it has written so far, to stdout and stderr. */
  output(): string;
  /** What it has written to stdout alone. */
  stdout(): string;
  /** Resolves with the exit code when it has ended; the name of the signal that ended it. */
  readonly ended: Promise<number | string>;
  /** Ends it with SIGTERM, after 5 s with SIGKILL. */
  stop(): Promise<void>;
}

export interface ProgramOptions {
  readonly env?: Readonly<Record<string, string>>;
  readonly cwd?: string;
}

/** Starts a program; whoever starts one stops it. */
export function startProgram(
  path: string,
  args: readonly string[],
  options: ProgramOptions = {},
): RunningProgram {
  const child = spawn(path, args, {
    cwd: options.cwd,
    env: { ...process.env, ...options.env },
    stdio: ["ignore", "pipe", "pipe"],
  });
  let both = "";
  let out = "";
  child.stdout.setEncoding("utf8").on("data", (text: string) => {
    out += text;
    both += text;
  });
  child.stderr.setEncoding("utf8").on("data", (text: string) => {
    both += text;
  });
  const ended = endOf(child);
  // A runner that gives a test up leaves nothing behind.
  const kill = (): void => void child.kill("SIGKILL");
  process.once("exit", kill);
  child.once("exit", () => process.removeListener("exit", kill));
  return { child, output: () => both, stdout: () => out, ended, stop: () => stop(child, ended) };
}

async function endOf(child: ChildProcess): Promise<number | string> {
  await once(child, "exit");
  return child.exitCode ?? child.signalCode ?? "unknown";
}

async function stop(child: ChildProcess, ended: Promise<number | string>): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  child.kill("SIGTERM");
  const hammer = setTimeout(() => child.kill("SIGKILL"), 5_000);
  await ended;
  clearTimeout(hammer);
}
