import type { Command } from "commander";
import { registerReceiptsVerify } from "./receipts-verify.ts";

/** `crawlwall receipts …`: proof of decisions that a third party can check. */
export function registerReceipts(program: Command): void {
  const receipts = program.command("receipts").description("check signed receipts");
  registerReceiptsVerify(receipts);
}
