import { createServer } from "node:http";

/* A small website for something to stand behind Caddy: `node backend.ts <port>`. */

const BODY = Buffer.from("<!doctype html><title>A page</title><p>A page.\n");
const FIELDS = { "Content-Type": "text/html; charset=utf-8", "Content-Length": BODY.length };

createServer((_, response) => response.writeHead(200, FIELDS).end(BODY)).listen(
  Number(process.argv[2]),
  "127.0.0.1",
  () => console.log("listening"),
);
