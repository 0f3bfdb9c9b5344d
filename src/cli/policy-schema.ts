import type { Command } from "commander";
import { policyJsonSchema } from "../core/policy/schema/policy-file.ts";
import { EXIT, printJson, runCommand } from "./exit.ts";

/** `crawlwall policy schema`: the JSON Schema of policy files, for editors. */
export function registerPolicySchema(policy: Command): void {
  policy
    .command("schema")
    .description("print the JSON Schema of policy files")
    .option("--json", "print JSON, as without it")
    .action(() =>
      runCommand(() => {
        printJson(policyJsonSchema());
        return EXIT.fine;
      }),
    );
}
