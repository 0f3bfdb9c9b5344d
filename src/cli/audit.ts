import type { Command } from "commander";
import { registerAuditCrawlDelay } from "./audit-crawl-delay.ts";
import { registerAuditHistory } from "./audit-history.ts";

/** `crawlwall audit …`: whether hosts tell crawlers to slow down. */
export function registerAudit(program: Command): void {
  const audit = program
    .command("audit")
    .description("check that hosts which need it declare a crawl-delay");
  registerAuditCrawlDelay(audit);
  registerAuditHistory(audit);
}
