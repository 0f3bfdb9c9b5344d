import { readFileSync } from "node:fs";
import { type AddressInfo, createServer, type Server, type Socket } from "node:net";
import {
  createServer as createTlsServer,
  getCACertificates,
  setDefaultCACertificates,
} from "node:tls";
import { brotliCompressSync, deflateSync, gzipSync } from "node:zlib";
import { afterEach, describe, expect, test } from "vitest";
import type { RobotsFetch } from "../../src/core/audit/fetch.ts";
import { fetchRobots, type RobotsFetchLimits } from "../../src/io/robots-fetch.ts";

const patient: RobotsFetchLimits = {
  connectMs: 5000,
  headersMs: 5000,
  wholeMs: 10_000,
  hostMs: 15_000,
  retryMs: 1,
};
const impatient: RobotsFetchLimits = { ...patient, wholeMs: 400, hostMs: 900 };
const body = "User-agent: *\nCrawl-delay: 5\n";

const servers = new Set<Server>();
const sockets = new Set<Socket>();

afterEach(async () => {
  for (const socket of sockets) socket.destroy();
  sockets.clear();
  await Promise.all([...servers].map((server) => new Promise((done) => server.close(done))));
  servers.clear();
});

/** Answers each request, told by its number from 0 and its head, with bytes or by hand. */
type Answer = (socket: Socket, request: { readonly number: number; readonly head: string }) => void;

async function listen(answer: Answer, tls?: string): Promise<string> {
  let requests = 0;
  const accept = (socket: Socket): void => {
    sockets.add(socket);
    socket.on("error", () => undefined);
    socket.once("data", (data) => answer(socket, { number: requests++, head: data.toString() }));
  };
  const pem = tls === undefined ? undefined : readFileSync(`test/fixtures/tls/${tls}.pem`);
  const server =
    pem === undefined ? createServer(accept) : createTlsServer({ key: pem, cert: pem }, accept);
  server.on("tlsClientError", () => undefined);
  servers.add(server);
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return `127.0.0.1:${(server.address() as AddressInfo).port}`;
}

function http(
  status: number,
  headers: Record<string, string>,
  content: string | Buffer = "",
): Buffer {
  const bytes = Buffer.from(content);
  const fields = { "Content-Length": String(bytes.length), ...headers };
  const lines = Object.entries(fields).map(([name, value]) => `${name}: ${value}\r\n`);
  return Buffer.concat([Buffer.from(`HTTP/1.1 ${status} X\r\n${lines.join("")}\r\n`), bytes]);
}

function send(bytes: Buffer | string): Answer {
  return (socket) => socket.end(bytes);
}

async function get(
  answer: Answer,
  limits: RobotsFetchLimits = patient,
  allowPrivate = true,
): Promise<RobotsFetch> {
  return await fetchRobots({ scheme: "http", host: await listen(answer), allowPrivate }, limits);
}

function textOf(result: RobotsFetch): string | undefined {
  return result.kind === "response" ? Buffer.from(result.body).toString() : undefined;
}

/** `response 200` or `failure timeout`. */
function outcomeOf(result: RobotsFetch): string {
  return result.kind === "response" ? `response ${result.status}` : `failure ${result.fault}`;
}

describe("what is sent", () => {
  test("one plain GET of /robots.txt, without cookies, conditions or a wish for compression", async () => {
    const heads: string[] = [];
    const host = await listen((socket, { head }) => {
      heads.push(head);
      socket.end(http(200, { "Content-Type": "text/plain" }, body));
    });
    const result = await fetchRobots({ scheme: "http", host, allowPrivate: true }, patient);
    expect(result).toMatchObject({
      kind: "response",
      url: `http://${host}/robots.txt`,
      finalUrl: `http://${host}/robots.txt`,
      redirects: [],
      attempts: 1,
      status: 200,
      contentType: "text/plain",
      isCut: false,
      wireBytes: body.length,
    });
    expect(textOf(result)).toBe(body);
    expect(heads).toHaveLength(1);
    const [line, ...fields] = (heads[0] ?? "").trimEnd().split("\r\n");
    expect(line).toBe("GET /robots.txt HTTP/1.1");
    expect(fields.map((field) => field.toLowerCase()).sort()).toEqual([
      "accept-encoding: identity",
      "accept: text/plain, */*;q=0.1",
      "connection: close",
      `host: ${host}`,
      "user-agent: crawlwall-audit",
    ]);
  });
});

describe("statuses", () => {
  test.each([200, 203, 204, 206, 300, 304, 401, 403, 404, 410, 429, 451, 500, 501, 600])(
    "%i comes back as it is",
    async (status) => {
      const result = await get(send(http(status, {})));
      expect(outcomeOf(result)).toBe(`response ${status}`);
      expect(result.attempts).toBe(1);
    },
  );

  test("the body of a refusal is kept", async () => {
    expect(textOf(await get(send(http(404, {}, body))))).toBe(body);
  });

  test("a refusal whose body breaks off is still a refusal", async () => {
    const result = await get(send(http(404, { "Content-Length": "99" }, body)));
    expect(outcomeOf(result)).toBe("response 404");
    expect(textOf(result)).toBe(body);
  });

  test("switching protocols is a status like another", async () => {
    const result = await get(send("HTTP/1.1 101 X\r\nUpgrade: x\r\nConnection: upgrade\r\n\r\n"));
    expect(outcomeOf(result)).toBe("response 101");
  });

  test("a hint before the answer is not the answer", async () => {
    const result = await get(
      send(
        Buffer.concat([Buffer.from("HTTP/1.1 103 X\r\nLink: </a>\r\n\r\n"), http(200, {}, body)]),
      ),
    );
    expect(textOf(result)).toBe(body);
  });
});

describe("bodies", () => {
  test.each<readonly [string, string, Buffer]>([
    ["gzip", "gzip", gzipSync(body)],
    ["x-gzip", "X-GZip", gzipSync(body)],
    ["deflate", "deflate", deflateSync(body)],
    ["brotli", "br", brotliCompressSync(body)],
    ["two in a row", "gzip, br", brotliCompressSync(gzipSync(body))],
    ["identity, said aloud", "identity", Buffer.from(body)],
  ])("%s is decoded though it was not asked for", async (_, encoding, bytes) => {
    const result = await get(send(http(200, { "Content-Encoding": encoding }, bytes)));
    expect(textOf(result)).toBe(body);
    expect(result).toMatchObject({ wireBytes: bytes.length });
  });

  test.each<readonly [string, string, string | Buffer]>([
    ["plain text that claims to be gzip", "gzip", body],
    ["gzip that breaks off inside", "gzip", gzipSync(body).subarray(0, -9)],
    ["an unknown encoding", "snappy", body],
    ["a chain of encodings", "gzip, gzip, gzip", gzipSync(gzipSync(gzipSync(body)))],
  ])("%s is a fault", async (_, encoding, bytes) => {
    expect(outcomeOf(await get(send(http(200, { "Content-Encoding": encoding }, bytes))))).toBe(
      "failure decode",
    );
  });

  test("an empty body needs no decoding", async () => {
    expect(textOf(await get(send(http(200, { "Content-Encoding": "gzip" }))))).toBe("");
  });

  test("a bomb is cut at 512,000 bytes, whatever it would become", async () => {
    const bomb = gzipSync(Buffer.alloc(200 * 1024 * 1024));
    const before = process.memoryUsage().rss;
    const result = await get(send(http(200, { "Content-Encoding": "gzip" }, bomb)));
    expect(result).toMatchObject({ kind: "response", status: 200, isCut: true });
    expect(result.kind === "response" && result.body.length).toBe(512_000);
    expect(process.memoryUsage().rss - before).toBeLessThan(100 * 1024 * 1024);
  });

  test.each([200, 404])(
    "a stream without end is cut, and its sender hung up on (%i)",
    async (status) => {
      let isClosed: Promise<unknown> = Promise.resolve();
      const result = await get((socket) => {
        isClosed = new Promise((resolve) => socket.on("close", resolve));
        const write = (): void => {
          while (
            !socket.destroyed &&
            socket.write("Disallow: /aaaaaaaaaaaaaaaaaaaaaa\n".repeat(100))
          );
        };
        socket.write(`HTTP/1.1 ${status} X\r\n\r\n`);
        socket.on("drain", write);
        write();
      });
      expect(result).toMatchObject({ kind: "response", status, isCut: true });
      expect(result.kind === "response" && result.body.length).toBe(512_000);
      await isClosed;
    },
  );

  test("512,000 bytes are whole, one more is not", async () => {
    const exact = Buffer.alloc(512_000, "#");
    expect(await get(send(http(200, {}, exact)))).toMatchObject({
      isCut: false,
      wireBytes: 512_000,
    });
    const more = Buffer.alloc(512_001, "#");
    expect(await get(send(http(200, {}, more)))).toMatchObject({ isCut: true });
  });

  test.each<readonly [string, string | Buffer]>([
    ["a body shorter than its length", http(200, { "Content-Length": "99" }, body)],
    [
      "chunks without the last",
      "HTTP/1.1 200 X\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nUser-\r\n",
    ],
  ])("%s is incomplete, and no part of it counts", async (_, bytes) => {
    expect(outcomeOf(await get(send(bytes)))).toBe("failure incomplete");
  });

  test("a body that ends with its connection is whole", async () => {
    expect(textOf(await get(send(`HTTP/1.0 200 X\r\n\r\n${body}`)))).toBe(body);
  });
});

describe("what is no HTTP response", () => {
  test.each<readonly [string, string, string]>([
    ["another protocol", "SSH-2.0-OpenSSH\r\n", "protocol"],
    [
      "a header block of more than 16 KiB",
      `HTTP/1.1 200 X\r\nA: ${"x".repeat(17_000)}\r\n\r\n`,
      "protocol",
    ],
    [
      "a chunk of bad length",
      "HTTP/1.1 200 X\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
      "protocol",
    ],
    ["nothing at all", "", "reset"],
  ])("%s", async (_, bytes, fault) => {
    expect(outcomeOf(await get(send(bytes)))).toBe(`failure ${fault}`);
  });

  test("a port where nobody listens", async () => {
    const host = await listen(() => undefined);
    for (const server of servers) await new Promise((done) => server.close(done));
    servers.clear();
    const result = await fetchRobots({ scheme: "http", host, allowPrivate: true }, patient);
    expect(result).toMatchObject({ kind: "failure", fault: "connect", cause: "ECONNREFUSED" });
  });

  test("a name that does not exist", async () => {
    const target = { scheme: "http", host: "no-such-name.invalid", allowPrivate: true } as const;
    expect(outcomeOf(await fetchRobots(target, patient))).toBe("failure dns");
  });
});

describe("time", () => {
  test.each<readonly [string, Answer]>([
    ["silence", () => undefined],
    ["headers that never end", (socket) => void socket.write("HTTP/1.1 200 X\r\nA: b\r\n")],
    [
      "silence amid the body",
      (socket) => void socket.write(http(200, { "Content-Length": "99" }, body)),
    ],
    [
      "a slow drip",
      (socket) => {
        socket.write("HTTP/1.1 200 X\r\nContent-Length: 99999\r\n\r\n");
        const drip = setInterval(() => socket.write("#"), 20);
        socket.on("close", () => clearInterval(drip));
      },
    ],
  ])("%s ends at the limit of the whole exchange", async (_, answer) => {
    const started = performance.now();
    const result = await get(answer, impatient);
    expect(outcomeOf(result)).toBe("failure timeout");
    expect(result.attempts).toBe(2);
    // Two rounds, of which the second ends with the host's own limit.
    expect(performance.now() - started).toBeLessThan(3000);
  });

  test("headers have a limit of their own", async () => {
    const result = await get(() => undefined, { ...patient, headersMs: 100, hostMs: 150 });
    expect(result).toMatchObject({
      fault: "timeout",
      cause: expect.stringMatching(/^no headers within \d+ ms$/),
    });
  });

  test("so has the connection, TLS included", async () => {
    const host = await listen(() => undefined);
    const limits = { ...patient, connectMs: 100, hostMs: 150 };
    const result = await fetchRobots({ scheme: "https", host, allowPrivate: true }, limits);
    expect(result).toMatchObject({
      fault: "timeout",
      cause: expect.stringMatching(/^no connection within \d+ ms$/),
    });
  });
});

describe("giving up", () => {
  test.each<readonly [string, Answer]>([
    ["before the answer", () => undefined],
    ["amid the answer", (socket) => void socket.write(http(200, { "Content-Length": "99" }, body))],
    ["between two tries", (socket) => socket.resetAndDestroy()],
  ])("%s ends at once", async (_, answer) => {
    const giveUp = new AbortController();
    const host = await listen((socket, request) => {
      if (request.number === 0) setTimeout(() => giveUp.abort(), 50);
      answer(socket, request);
    });
    const limits = { ...patient, retryMs: 9000 };
    const started = performance.now();
    await fetchRobots({ scheme: "http", host, allowPrivate: true }, limits, giveUp.signal);
    expect(performance.now() - started).toBeLessThan(3000);
  });

  test("a fetch that nobody wants any more is not begun", async () => {
    const host = await listen(send(http(200, {}, body)));
    const target = { scheme: "http", host, allowPrivate: true } as const;
    const result = await fetchRobots(target, patient, AbortSignal.abort());
    expect(outcomeOf(result)).toBe("failure timeout");
  });
});

describe("a second try", () => {
  const flaky =
    (first: Answer): Answer =>
    (socket, request) =>
      request.number === 0 ? first(socket, request) : socket.end(http(200, {}, body));

  test.each<readonly [string, Answer]>([
    ["a reset", (socket) => socket.resetAndDestroy()],
    ["502", send(http(502, {}))],
    ["503", send(http(503, {}))],
    ["504", send(http(504, {}))],
    ["503 with a short Retry-After", send(http(503, { "Retry-After": "0" }))],
    ["429 with a short Retry-After", send(http(429, { "Retry-After": "0" }))],
  ])("follows %s", async (_, first) => {
    const result = await get(flaky(first));
    expect(textOf(result)).toBe(body);
    expect(result.attempts).toBe(2);
  });

  test.each<readonly [string, Answer, string]>([
    ["429", send(http(429, {})), "response 429"],
    ["429 with a long Retry-After", send(http(429, { "Retry-After": "11" })), "response 429"],
    ["503 with a long Retry-After", send(http(503, { "Retry-After": "3600" })), "response 503"],
    [
      "503 until a date",
      send(http(503, { "Retry-After": "Wed, 21 Oct 2065 07:28:00 GMT" })),
      "response 503",
    ],
    ["500", send(http(500, {})), "response 500"],
    ["404", send(http(404, {})), "response 404"],
    [
      "a body that is not what its encoding says",
      send(http(200, { "Content-Encoding": "gzip" }, body)),
      "failure decode",
    ],
    ["an incomplete body", send(http(200, { "Content-Length": "99" }, body)), "failure incomplete"],
  ])("does not follow %s", async (_, first, outcome) => {
    const result = await get(flaky(first));
    expect(outcomeOf(result)).toBe(outcome);
    expect(result.attempts).toBe(1);
  });

  test("waits as long as was asked", async () => {
    const started = performance.now();
    const result = await get(flaky(send(http(503, { "Retry-After": "1" }))));
    expect(outcomeOf(result)).toBe("response 200");
    expect(performance.now() - started).toBeGreaterThan(990);
  });

  test("is the last", async () => {
    let requests = 0;
    const result = await get((socket) => {
      requests++;
      socket.end(http(503, {}));
    });
    expect(outcomeOf(result)).toBe("response 503");
    expect(requests).toBe(2);
  });
});

describe("redirects", () => {
  /** `/robots.txt` and `/1` to `/9` each lead to the next; `/n` where `n` is `last` answers. */
  const chain =
    (last: number, status = 302): Answer =>
    (socket, { head }) => {
      const place = Number(/^GET \/(\d+) /.exec(head)?.[1] ?? 0);
      socket.end(
        place === last ? http(200, {}, body) : http(status, { Location: `/${place + 1}#part` }),
      );
    };

  test.each([301, 302, 303, 307, 308])("%i is followed", async (status) => {
    const result = await get(chain(1, status));
    expect(textOf(result)).toBe(body);
    expect(result.redirects).toEqual([result.finalUrl]);
    expect(result.finalUrl).toMatch(/^http:\/\/127\.0\.0\.1:\d+\/1$/);
  });

  test("five are followed (RFC 9309 section 2.3.1.2)", async () => {
    const result = await get(chain(5));
    expect(textOf(result)).toBe(body);
    expect(result.redirects).toHaveLength(5);
  });

  test("six are too many", async () => {
    const result = await get(chain(6));
    expect(result).toMatchObject({ kind: "failure", fault: "redirect_limit", status: 302 });
    expect(result.redirects).toHaveLength(5);
  });

  test.each([
    ["to itself", "/robots.txt"],
    ["in a circle", "/1"],
  ])("%s: a loop", async (_, back) => {
    const result = await get((socket, { head }) => {
      const location = head.startsWith("GET /robots.txt ") ? "/1" : back;
      socket.end(http(301, { Location: back === "/robots.txt" ? back : location }));
    });
    expect(result).toMatchObject({ kind: "failure", fault: "redirect_loop", status: 301 });
  });

  test.each([
    ["no Location", {}],
    ["an empty scheme", { Location: "http://" }],
    ["a file", { Location: "file:///etc/passwd" }],
    ["a script", { Location: "javascript:alert(1)" }],
    ["a password", { Location: "http://user:secret@example.com/robots.txt" }],
    ["a port of another service", { Location: "http://example.com:6379/robots.txt" }],
  ])("%s leads nowhere", async (_, headers) => {
    const result = await get(send(http(302, headers)));
    expect(outcomeOf(result)).toBe("response 302");
    expect(result.redirects).toEqual([]);
  });

  test.each([
    "http://10.0.0.5/robots.txt",
    "http://169.254.169.254/latest/meta-data/",
    "http://[::1]/robots.txt",
    "http://[::ffff:10.0.0.1]/robots.txt",
    "http://[fd00::1]/robots.txt",
    "http://2130706433/robots.txt",
    "http://0x7f.1/robots.txt",
    "http://0/robots.txt",
    "http://100.64.0.1/robots.txt",
    "http://203.0.113.7/robots.txt",
    "http://localhost/robots.txt",
    "http://127.0.0.1:6379/robots.txt",
    "http://127.0.0.2/robots.txt",
  ])("%s is refused, though the host itself may be private", async (location) => {
    const result = await get(send(http(302, { Location: location })));
    expect(result).toMatchObject({
      kind: "failure",
      fault: "blocked_address",
      status: 302,
      attempts: 1,
      finalUrl: new URL(location).href,
    });
  });

  test("a redirect to where no answer comes from leaves no status", async () => {
    const result = await get((socket, { head }) => {
      if (head.startsWith("GET /robots.txt ")) socket.end(http(301, { Location: "/there" }));
      else socket.end("SSH-2.0\r\n");
    });
    expect(result).toMatchObject({ kind: "failure", fault: "protocol", status: undefined });
  });

  test("to another service on the host that may be private is refused, and it is not asked", async () => {
    let isAsked = false;
    const other = await listen(() => {
      isAsked = true;
    });
    const result = await get(send(http(302, { Location: `http://${other}/robots.txt` })));
    expect(outcomeOf(result)).toBe("failure blocked_address");
    expect(isAsked).toBe(false);
  });
});

describe("addresses that are not public", () => {
  test.each(["127.0.0.1", "localhost", "[::1]", "10.1.2.3", "192.168.1.1"])(
    "%s is refused unless it is marked",
    async (host) => {
      const target = { scheme: "http", host, allowPrivate: false } as const;
      expect(outcomeOf(await fetchRobots(target, patient))).toBe("failure blocked_address");
    },
  );

  test("a marked host is asked", async () => {
    expect(outcomeOf(await get(send(http(200, {})), patient, true))).toBe("response 200");
    expect(outcomeOf(await get(send(http(200, {})), patient, false))).toBe(
      "failure blocked_address",
    );
  });
});

describe("TLS", () => {
  const secure = async (tls: string): Promise<RobotsFetch> => {
    const host = await listen(send(http(200, {}, body)), tls);
    return await fetchRobots({ scheme: "https", host, allowPrivate: true }, patient);
  };

  test("a certificate of an unknown authority is refused", async () => {
    expect(await secure("good")).toMatchObject({ kind: "failure", fault: "tls", attempts: 1 });
  });

  describe("of a known authority", () => {
    const roots = getCACertificates("default");
    afterEach(() => setDefaultCACertificates(roots));

    test.each([
      ["good", "response 200"],
      ["expired", "failure tls"],
      ["other-name", "failure tls"],
    ])("%s: %s", async (tls, outcome) => {
      setDefaultCACertificates([...roots, readFileSync("test/fixtures/tls/authority.pem", "utf8")]);
      expect(outcomeOf(await secure(tls))).toBe(outcome);
    });
  });

  test("plain HTTP on the port is refused", async () => {
    const host = await listen(send(http(200, {}, body)));
    const result = await fetchRobots({ scheme: "https", host, allowPrivate: true }, patient);
    expect(outcomeOf(result)).toBe("failure tls");
  });
});
