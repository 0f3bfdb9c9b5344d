import { Command, CommanderError } from "commander";
import { EXIT, note } from "./exit.ts";
import { registerVersion } from "./version.ts";

/** The whole command line. Each command lives in a file of its own and registers itself. */
export function createProgram(): Command {
  const program = new Command("crawlwall")
    .description("Governs crawlers from beside Caddy: asks a policy about every request")
    .showHelpAfterError("(crawlwall --help lists the commands)")
    .exitOverride();
  registerVersion(program);
  return program;
}

/** Runs the command line with the arguments of this process. */
export async function main(): Promise<void> {
  try {
    await createProgram().parseAsync();
  } catch (error) {
    if (error instanceof CommanderError) {
      // Commander has printed its message; help and version are no failure.
      process.exitCode = error.exitCode === 0 ? EXIT.fine : EXIT.cannotRun;
      return;
    }
    note(error instanceof Error ? (error.stack ?? error.message) : String(error));
    process.exitCode = EXIT.cannotRun;
  }
}
