import { parentPort } from "node:worker_threads";
import { loadPolicies } from "../load.ts";
import { completeLoading } from "./loaded.ts";
import type { LoadPart, LoadRequest } from "./parts.ts";
import { partsOf } from "./parts.ts";

/** Loads policies in a thread of its own, and hands them over part by part as they are asked for. */
function serve(port: NonNullable<typeof parentPort>): void {
  let parts: Iterator<LoadPart> = [][Symbol.iterator]();
  port.on("message", (request: LoadRequest) => {
    if (request.kind === "load") parts = load(request.path);
    const next = parts.next();
    port.postMessage(next.done === true ? { kind: "end" } : next.value);
  });
}

function load(path: string): Iterator<LoadPart> {
  const loaded = loadPolicies(path);
  if (loaded.kind === "faulty") return [loaded][Symbol.iterator]();
  return partsOf(loaded.policies.map(completeLoading));
}

if (parentPort !== null) serve(parentPort);
