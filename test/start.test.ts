import { spawnSync } from "node:child_process";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";

/** What a start must not load: each takes as long as all of our own modules. */
const HEAVY = [/deps\/undici/, /\/ajv\//, /\/pg\//, /\/pino-pretty\//];

/** Every module, Node's own and ours, that a fresh process holds when it has loaded some files. */
function loadedBy(...files: readonly string[]): readonly string[] {
  const urls = files.map((file) => new URL(`../src/${file}`, import.meta.url).href);
  const script = `
    import { registerHooks, createRequire } from "node:module";
    const loaded = [];
    registerHooks({ load: (url, context, next) => (loaded.push(url), next(url, context)) });
    for (const url of ${JSON.stringify(urls)}) await import(url);
    const own = Object.keys(createRequire(import.meta.url).cache);
    console.log(JSON.stringify([...loaded, ...own, ...process.moduleLoadList]));`;
  const cwd = fileURLToPath(new URL("..", import.meta.url));
  const args = ["--input-type=module", "--eval", script];
  const { stdout, stderr } = spawnSync(process.execPath, args, { cwd, encoding: "utf8" });
  if (stdout === "") throw new Error(stderr);
  const loaded: string[] = JSON.parse(stdout);
  return loaded;
}

test.each([
  ["the service", ["cli/serve.ts", "assemble.ts"], /fastify\/fastify\.js$/],
  ["a health check", ["cli/healthcheck.ts"], /commander/],
])("%s is started without what it does not need", (_, files, needed) => {
  const loaded = loadedBy(...files);
  const heavy = loaded.filter((name) => HEAVY.some((pattern) => pattern.test(name)));
  expect(heavy).toEqual([]);
  // The list is no empty one.
  expect(loaded.some((name) => needed.test(name))).toBe(true);
});
