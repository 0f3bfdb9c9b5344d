import { type CelInput, type CelResult, isCelError, plan } from "@bufbuild/cel";
import type { Expr, Expr_Call } from "@bufbuild/cel-spec/cel/expr/syntax_pb.js";
import { type Bot, isVerifiable, type Verification } from "../bot/bot.ts";
import type { Site } from "../policy/policy.ts";
import type { CrawlRequest } from "../request.ts";
import { CEL_ENV, HEADER_FUNCTION, HEADERS_VARIABLE } from "./cel-env.ts";
import type { CheckedExpression } from "./check.ts";
import type { CelEnvironment } from "./environment.ts";
import { everyPart } from "./parts.ts";

/** What became of a condition: an answer, or the message of its error. */
export type Outcome =
  | { readonly kind: "answer"; readonly value: boolean }
  | { readonly kind: "error"; readonly message: string };

/** A condition, planned by the reference evaluator. */
export type ReferencePlan = (inputs: Inputs) => Outcome;

/** The inputs of one evaluation, as the reference evaluator takes them. */
export type Inputs = Readonly<Record<string, CelInput>>;

/** Plans a condition with `@bufbuild/cel`, whose meaning is the one that counts. */
export function planCondition(expression: CheckedExpression): ReferencePlan {
  const run = planExpression(expression.ast);
  return (inputs) => {
    const result = run(inputs);
    if (typeof result === "boolean") return { kind: "answer", value: result };
    const message = isCelError(result) ? result.message : "the condition is not true or false";
    return { kind: "error", message };
  };
}

/** Plans any part of a condition; variables of macros around it are inputs too. */
export function planExpression(ast: Expr): (inputs: Inputs) => CelResult {
  const run = plan(CEL_ENV, withHeaderArgument(ast));
  return (inputs) => run(inputs);
}

/** Makes the inputs of evaluations from what a policy knows once and for all. */
export type Binder = (bot: BotInputs, request: CrawlRequest, path: string) => Inputs;

/** The fields of `bot` that no request decides. */
export type BotInputs = ReadonlyMap<string, string | boolean>;

/** Makes the binder of one policy. */
export function createBinder(site: Site, environment: CelEnvironment): Binder {
  const siteFields = siteInputs(site);
  const sets = environment.setLists;
  return (bot, request, path) => ({
    bot: new Map<string, CelInput>([...bot, ["by_ip", request.byIp ?? []]]),
    request: requestInputs(request, path),
    site: siteFields,
    labels: new Map([
      ["bot_id", String(bot.get("id"))],
      ["host", request.host],
      ["path", path],
    ]),
    sets,
    [HEADERS_VARIABLE]: request.headers.all(),
  });
}

/** The fields of `site`. */
export function siteInputs(site: Site): ReadonlyMap<string, string> {
  return new Map([
    ["id", site.id],
    ["host", site.hosts[0]],
    ["mode", site.mode],
  ]);
}

/** Those fields for one outcome of verification. */
export function botInputs(bot: Bot, verification: Verification): BotInputs {
  return new Map<string, string | boolean>([
    ["id", bot.id],
    ["name", bot.name],
    ["class", bot.class],
    ["operator", bot.operator],
    ["claimed", !bot.isDefault],
    ["verified", verification === "verified"],
    ["verification", verification],
    ["verifiable", !bot.isDefault && isVerifiable(bot)],
  ]);
}

function requestInputs(request: CrawlRequest, path: string): ReadonlyMap<string, CelInput> {
  return new Map<string, CelInput>([
    ["host", request.host],
    ["method", request.method],
    ["path", path],
    ["raw_path", request.target.rawPath],
    ["query", request.target.query],
    ["scheme", request.scheme],
    ["ip", request.address.ip],
    ["user_agent", request.userAgent],
    ["headers", request.headers.all()],
  ]);
}

/**
 * The tree with `header(name)` turned into a call that takes the header fields too: functions of
 * the reference evaluator see their arguments alone.
 */
function withHeaderArgument(ast: Expr): Expr {
  if (headerCalls(ast).length === 0) return ast;
  const copy = structuredClone(ast);
  for (const call of headerCalls(copy)) {
    call.function = HEADER_FUNCTION;
    call.args.unshift({
      $typeName: "cel.expr.Expr",
      id: copy.id,
      exprKind: {
        case: "identExpr",
        value: { $typeName: "cel.expr.Expr.Ident", name: HEADERS_VARIABLE },
      },
    });
  }
  return copy;
}

function headerCalls(ast: Expr): readonly Expr_Call[] {
  return [...everyPart(ast)].flatMap(({ exprKind }) => {
    const isHeader = exprKind.case === "callExpr" && exprKind.value.function === "header";
    return isHeader && exprKind.value.target === undefined ? [exprKind.value] : [];
  });
}
