import { afterEach, expect, test } from "vitest";
import { type FetchOptions, fetchDocument } from "../../../src/io/verify/guarded-fetch.ts";
import { body, type Handler, type ListServer, startListServer } from "./support/list-server.ts";

const OPTIONS: FetchOptions = {
  maxBytes: 1_000,
  timeoutMs: 500,
  maxRedirects: 2,
  allowInsecure: true,
  accept: "*/*",
};

const servers: ListServer[] = [];

afterEach(async () => {
  for (const server of servers.splice(0)) await server.stop();
});

async function serve(handler: Handler): Promise<string> {
  const server = await startListServer(handler);
  servers.push(server);
  return server.url;
}

async function causeOf(url: string, more: Partial<FetchOptions> = {}): Promise<string> {
  const fetched = await fetchDocument(url, { ...OPTIONS, ...more });
  return fetched.kind === "failed" ? fetched.cause : fetched.kind;
}

/** Counts down from `/3`: each hop leads to the next lower number. */
const countdown: Handler = (request, response) => {
  const left = Number(request.url?.slice(1));
  if (left === 0) response.end("here");
  else response.writeHead(302, { location: `/${left - 1}` }).end();
};

test("a redirect is followed, and the answer says where it led", async () => {
  const url = new URL("/2", await serve(countdown));
  const fetched = await fetchDocument(url.href, OPTIONS);
  expect(fetched).toMatchObject({ kind: "document", url: new URL("/0", url).href });
});

test("redirects have an end", async () => {
  expect(await causeOf(new URL("/3", await serve(countdown)).href)).toBe("more than 2 redirects");
});

test.each([
  ["file:///etc/passwd", "`file:` is not fetched; https is"],
  ["ftp://203.0.113.1/list", "`ftp:` is not fetched; https is"],
])("a redirect to %s is refused", async (location, cause) => {
  const url = await serve((_request, response) => {
    response.writeHead(302, { location }).end();
  });
  expect(await causeOf(url)).toBe(cause);
});

test.each([
  ["http://203.0.113.1/list", "`http://203.0.113.1` is not https"],
  ["https://127.0.0.1/list", "`127.0.0.1` has an address that is not public"],
  ["https://169.254.169.254/latest", "`169.254.169.254` has an address that is not public"],
  ["https://2130706433/list", "`127.0.0.1` has an address that is not public"],
  ["https://[::1]/list", "`[::1]` has an address that is not public"],
  ["https://[::ffff:10.0.0.1]/list", "`[::ffff:a00:1]` has an address that is not public"],
  ["https://localhost/list", "`localhost` has an address that is not public"],
  ["not a url", "Invalid URL"],
])("%s is refused", async (url, cause) => {
  const message = await causeOf(url, { allowInsecure: false });
  expect(message.split(";")[0]).toBe(cause);
});

test("a document over the limit is cut off, not read to its end", async () => {
  let sent = 0;
  const url = await serve((_request, response) => {
    const timer = setInterval(() => {
      sent += 1;
      response.write("x".repeat(200));
    }, 1);
    response.on("close", () => clearInterval(timer));
  });
  expect(await causeOf(url)).toBe("more than 1000 bytes");
  expect(sent).toBeLessThan(100);
});

test("a server that drips one byte at a time is given up when the time is over", async () => {
  const url = await serve((_request, response) => {
    const timer = setInterval(() => response.write("x"), 20);
    response.on("close", () => clearInterval(timer));
  });
  const began = performance.now();
  expect(await causeOf(url)).toBe("no complete answer within 500 ms");
  expect(performance.now() - began).toBeLessThan(2_000);
});

test("a server that never answers is given up when the time is over", async () => {
  expect(await causeOf(await serve(() => undefined))).toBe("no complete answer within 500 ms");
});

test("a body that ends before its length is no document", async () => {
  const url = await serve((_request, response) => {
    response.writeHead(200, { "content-length": "100" }).write("short");
    setTimeout(() => response.destroy(), 20);
  });
  expect(await causeOf(url)).not.toBe("document");
});

test("an encoding that was not asked for is refused: its size cannot be told", async () => {
  const url = await serve((_request, response) => {
    response.writeHead(200, { "content-encoding": "gzip" }).end("bomb");
  });
  expect(await causeOf(url)).toBe("content encoding `gzip` was not asked for");
});

test("an ETag that still holds answers `unchanged`", async () => {
  const url = await serve((request, response) => {
    response.writeHead(request.headers["if-none-match"] === '"one"' ? 304 : 200).end();
  });
  expect(await causeOf(url, { etag: '"one"' })).toBe("unchanged");
  expect(await causeOf(url)).toBe("document");
});

test("credentials in a URL are sent, and never told", async () => {
  let authorization: string | undefined;
  const url = new URL(
    await serve((request, response) => {
      authorization = request.headers.authorization;
      response.end("secret list");
    }),
  );
  url.username = "user";
  url.password = "secret";
  const fetched = await fetchDocument(url.href, OPTIONS);
  expect(authorization).toBe(`Basic ${btoa("user:secret")}`);
  expect(JSON.stringify(fetched)).not.toContain("secret@");
});

test("any status but 200 is a failure that names it", async () => {
  expect(await causeOf(await serve(body("", 404)))).toBe("status 404");
});
