import { Command, CommanderError } from "commander";
import { EXIT, note } from "./exit.ts";

type Register = (program: Command) => void;

/**
 * Each command lives in a file of its own and registers itself. A file is read when its command is
 * called, so that `healthcheck` need not wait for a server to be loaded.
 */
const COMMANDS: ReadonlyMap<string, () => Promise<Register>> = new Map([
  ["audit", async () => (await import("./audit.ts")).registerAudit],
  ["bots", async () => (await import("./bots.ts")).registerBots],
  ["healthcheck", async () => (await import("./healthcheck.ts")).registerHealthcheck],
  ["keygen", async () => (await import("./keygen.ts")).registerKeygen],
  ["ledger", async () => (await import("./ledger.ts")).registerLedger],
  ["policy", async () => (await import("./policy.ts")).registerPolicy],
  ["receipts", async () => (await import("./receipts.ts")).registerReceipts],
  ["robots", async () => (await import("./robots.ts")).registerRobots],
  ["serve", async () => (await import("./serve.ts")).registerServe],
  ["up", async () => (await import("./up.ts")).registerUp],
  ["version", async () => (await import("./version.ts")).registerVersion],
  ["verifiers", async () => (await import("./verifiers-status.ts")).registerVerifiersStatus],
]);

/** The command line, with the command that is called; with all of them where none is known. */
async function createProgram(called: string | undefined): Promise<Command> {
  const program = new Command("crawlwall")
    .description("Governs crawlers from beside Caddy: asks a policy about every request")
    .showHelpAfterError("(crawlwall --help lists the commands)")
    .exitOverride();
  const known = COMMANDS.get(called ?? "");
  for (const load of known === undefined ? COMMANDS.values() : [known]) (await load())(program);
  return program;
}

/** Runs the command line; the arguments are those after the program's name. Returns the exit code. */
export async function main(args: readonly string[]): Promise<number> {
  process.stdout.off("error", endWithoutReader).on("error", endWithoutReader);
  try {
    const program = await createProgram(args[0]);
    await program.parseAsync(args, { from: "user" });
  } catch (error) {
    // Commander has printed its message; help and version are no failure.
    if (error instanceof CommanderError) return error.exitCode === 0 ? EXIT.fine : EXIT.cannotRun;
    note(error instanceof Error ? (error.stack ?? error.message) : String(error));
    return EXIT.cannotRun;
  }
  return typeof process.exitCode === "number" ? process.exitCode : EXIT.fine;
}

/** A reader that has enough, such as `head`, is no failure; a disk that is full is. */
function endWithoutReader(error: NodeJS.ErrnoException): void {
  process.exit(error.code === "EPIPE" ? EXIT.fine : EXIT.cannotRun);
}
