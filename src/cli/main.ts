import { Command, CommanderError } from "commander";
import { registerBots } from "./bots.ts";
import { EXIT, note } from "./exit.ts";
import { registerHealthcheck } from "./healthcheck.ts";
import { registerPolicy } from "./policy.ts";
import { registerServe } from "./serve.ts";
import { registerVerifiersStatus } from "./verifiers-status.ts";
import { registerVersion } from "./version.ts";

/** The whole command line. Each command lives in a file of its own and registers itself. */
export function createProgram(): Command {
  const program = new Command("crawlwall")
    .description("Governs crawlers from beside Caddy: asks a policy about every request")
    .showHelpAfterError("(crawlwall --help lists the commands)")
    .exitOverride();
  registerBots(program);
  registerHealthcheck(program);
  registerPolicy(program);
  registerServe(program);
  registerVerifiersStatus(program);
  registerVersion(program);
  return program;
}

/** Runs the command line; the arguments are those after the program's name. Returns the exit code. */
export async function main(args: readonly string[]): Promise<number> {
  try {
    await createProgram().parseAsync(args, { from: "user" });
  } catch (error) {
    // Commander has printed its message; help and version are no failure.
    if (error instanceof CommanderError) return error.exitCode === 0 ? EXIT.fine : EXIT.cannotRun;
    note(error instanceof Error ? (error.stack ?? error.message) : String(error));
    return EXIT.cannotRun;
  }
  return typeof process.exitCode === "number" ? process.exitCode : EXIT.fine;
}
