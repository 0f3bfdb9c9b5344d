import { describe, expect, test } from "vitest";
import { checkCondition } from "../../../src/core/cel/check.ts";
import { createEnvironment } from "../../../src/core/cel/environment.ts";

const environment = createEnvironment({
  sets: new Map([
    ["three", paths(3)],
    ["hundreds", paths(300)],
    ["thousands", paths(3000)],
    ["many", paths(50_000)],
  ]),
});

function paths(count: number): readonly string[] {
  return Array.from({ length: count }, (_, index) => `/area-${String(index).padStart(6, "0")}`);
}

function faultOf(source: string): string | undefined {
  const result = checkCondition(source, environment);
  return result.kind === "faulty" ? result.faults[0]?.message : undefined;
}

describe("a condition whose cost stays within the limit is accepted", () => {
  test.each([
    "sets.many.exists(p, request.path.startsWith(p))",
    "sets.many.exists(p, pathUnder(request.path, p))",
    "request.path in sets.many",
    "sets.thousands.exists(p, request.path.contains(p))",
    "sets.hundreds.exists(a, sets.hundreds.exists(b, request.path == a + b))",
    "request.path.contains(request.host)",
    'request.path.split("/").exists(s, s.contains("x") || s.matches("^[a-z]+x$"))',
    'int(header("x-depth")) > 3',
    'request.path.matches("(a|b|c|d){1,100}x")',
    "request.headers.exists(k, request.headers[k].contains('x'))",
  ])("%s", (source) => {
    expect(faultOf(source)).toBeUndefined();
  });
});

describe("a condition that a client or its own sets could make slow is refused with the estimate", () => {
  test.each([
    ["sets.thousands.exists(a, sets.thousands.exists(b, request.path == a + b))", 9_000_000],
    ["request.path.contains(request.query)", 4_000_000],
    ["request.path.replace('a', request.query) == ''", 4_000_000],
    ["request.path.split('/').exists(a, request.path.split('/').exists(b, a == b))", 60_000_000],
    ["sets.hundreds.exists(p, request.path.matches('(a|b|c|d){1,100}x'))", 30_000_000],
    [`request.path${".replace('a', 'aaaaaaaa')".repeat(6)} == ''`, 1_000_000_000],
  ])("%s: at least %d steps", (source, steps) => {
    const message = faultOf(source);
    const [, estimate = ""] =
      /^may take ([\d,]+) steps for one request, and the limit is 1,000,000; /.exec(
        message ?? "",
      ) ?? [];
    expect(Number(estimate.replaceAll(",", ""))).toBeGreaterThanOrEqual(steps);
  });

  test("macros nested deeper than any rule needs", () => {
    const depth = 20;
    const open = Array.from({ length: depth }, (_, index) => `sets.three.exists(x${index}, `);
    expect(faultOf(`${open.join("")}true${")".repeat(depth)}`)).toMatch(/^may take/);
  });

  test("a pattern that would compile to thousands of instructions", () => {
    expect(faultOf("request.path.matches('[a-c]{500}[d-f]{500}[g-i]{900}[j-l]{900}')")).toBe(
      "`[a-c]{500}[d-f]{500}[g-i]{900}[j-l]{900}` compiles to 2802 instructions, over the limit of 2000; use smaller repetitions",
    );
  });
});
