export type { Bot, Verification } from "./core/bot/bot.ts";
export { type Catalog, parseCatalog } from "./core/bot/catalog.ts";
export { type ClientAddress, readClientAddress } from "./core/client-address.ts";
export { type Answer, answerUnder } from "./core/policy/answer.ts";
export { type CompiledPolicies, compilePolicies } from "./core/policy/compile.ts";
export { type Fault, formatFault, type Warning } from "./core/policy/fault.ts";
export type { Action, Policy, Rule } from "./core/policy/policy.ts";
export type { CrawlRequest, HeaderFields } from "./core/request.ts";
export { parseTarget, type Target } from "./core/target.ts";
