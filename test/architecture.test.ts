import { readdirSync, readFileSync } from "node:fs";
import { dirname, join, relative, resolve } from "node:path";
import { expect, test } from "vitest";

const SRC = resolve(import.meta.dirname, "../src");

/** The rooms of the house; a file belongs to the first one whose prefix fits. */
const ROOMS = [
  "core",
  "gate.ts",
  "audit",
  "io/ledger",
  "io/limits",
  "io/receipts",
  "io/verify",
  "io",
  "server",
  "settings.ts",
  "load.ts",
  "load",
  "assemble.ts",
  "assemble",
  "cli",
  "index.ts",
] as const;

type Room = (typeof ROOMS)[number];

/** Who may import whom; a room may always import itself. */
const ALLOWED: Readonly<Record<Room, readonly Room[]>> = {
  core: [],
  "gate.ts": ["core"],
  audit: ["core"],
  "io/ledger": ["core", "io"],
  "io/limits": ["core", "gate.ts"],
  "io/receipts": ["core", "io"],
  "io/verify": ["core", "gate.ts"],
  io: ["core", "gate.ts"],
  server: ["core", "gate.ts"],
  "settings.ts": ["core", "server"],
  "load.ts": ["core", "io"],
  load: ["core", "load.ts"],
  assemble: [
    "audit",
    "core",
    "gate.ts",
    "io",
    "io/ledger",
    "io/limits",
    "io/receipts",
    "io/verify",
    "load",
    "settings.ts",
  ],
  "assemble.ts": [
    "assemble",
    "audit",
    "core",
    "gate.ts",
    "io",
    "io/ledger",
    "io/limits",
    "io/receipts",
    "io/verify",
    "load.ts",
    "load",
    "server",
    "settings.ts",
  ],
  cli: [...ROOMS],
  "index.ts": ["core"],
};

interface Import {
  readonly from: string;
  readonly to: string;
}

const files = readdirSync(SRC, { recursive: true, encoding: "utf8" }).filter((file) =>
  file.endsWith(".ts"),
);

const imports: readonly Import[] = files.flatMap((from) => {
  const text = readFileSync(join(SRC, from), "utf8");
  const paths = [...text.matchAll(/(?:from|import)\s*\(?\s*"(\.[^"]+)"/g)];
  return paths.map(([, path = ""]) => ({
    from,
    to: relative(SRC, resolve(SRC, dirname(from), path)),
  }));
});

function roomOf(file: string): Room | undefined {
  return ROOMS.find((room) => file === room || file.startsWith(`${room}/`));
}

test("every file stands in a room", () => {
  expect(files.filter((file) => roomOf(file) === undefined)).toEqual([]);
});

test("imports go one way: core, gate, assemble, cli; io folders do not know each other", () => {
  const wrong = imports.filter(({ from, to }) => {
    const [source, target] = [roomOf(from), roomOf(to)];
    if (source === undefined || target === undefined) return !to.startsWith("../package.json");
    return source !== target && !ALLOWED[source].includes(target);
  });
  expect(wrong).toEqual([]);
});

/** Node's own modules that compute and touch nothing. */
const PURE_BUILTINS = ["node:crypto", "node:buffer"];

test("the core touches no disk, network, clock or randomness", () => {
  const core = files.filter((file) => roomOf(file) === "core");
  const impure = core.filter((file) => {
    const text = readFileSync(join(SRC, file), "utf8");
    const builtins = [...text.matchAll(/from "(node:[a-z/]+)"/g)].map(([, name = ""]) => name);
    const asksTheWorld =
      /\bDate\.now\(|\bnew Date\(\)|\bMath\.random\(|\brandomBytes\b|\brandomUUID\b/;
    return builtins.some((name) => !PURE_BUILTINS.includes(name)) || asksTheWorld.test(text);
  });
  expect(impure).toEqual([]);
});
