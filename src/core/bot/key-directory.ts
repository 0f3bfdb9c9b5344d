import { createHash } from "node:crypto";
import { z } from "zod";

/** A crawler's public key. */
export interface DirectoryKey {
  /** Its thumbprint (RFC 7638), which signatures name as `keyid`. */
  readonly id: string;
  /** The key itself, an Ed25519 point in base64url. */
  readonly x: string;
  /** Seconds since the epoch; undefined where the directory sets no limit. */
  readonly notBefore: number | undefined;
  readonly notAfter: number | undefined;
}

export type KeyDirectory =
  | { readonly kind: "keys"; readonly keys: readonly DirectoryKey[] }
  | { readonly kind: "unreadable"; readonly reason: string };

/** Keys whose private half is printed in a standard: whoever can read can sign with them. */
export const PUBLISHED_TEST_KEYS: ReadonlySet<string> = new Set([
  // RFC 9421, B.1.4 and B.1.2.
  "poqkLGiymh_W0uP6PZFw-dvez3QJT5SolqXBCW38r0U",
  "oD0HwocPBSfpNy5W3bpJeyFGY_IQ_YpqxSjQ3Yd-CLA",
]);

const MAX_KEYS = 64;

const directorySchema = z.object({ keys: z.array(z.unknown()).max(MAX_KEYS) });

const keySchema = z.object({
  kty: z.literal("OKP"),
  crv: z.literal("Ed25519"),
  x: z.string().regex(/^[A-Za-z0-9_-]{43}$/),
  kid: z.string().optional(),
  use: z.literal("sig").optional(),
  nbf: z.number().optional(),
  exp: z.number().optional(),
});

/**
 * Reads a key directory: the JSON Web Key Set that a crawler's operator publishes. Keys of other
 * kinds are passed over, as is a key whose `kid` is not its thumbprint.
 */
export function parseKeyDirectory(text: string): KeyDirectory {
  const parsed = directorySchema.safeParse(parseJson(text));
  if (!parsed.success)
    return { kind: "unreadable", reason: `is no key set of at most ${MAX_KEYS} keys` };
  const keys = parsed.data.keys.flatMap((each) => readKey(each));
  return keys.length === 0
    ? { kind: "unreadable", reason: "holds no Ed25519 key whose `kid` is its thumbprint" }
    : { kind: "keys", keys };
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

function readKey(value: unknown): readonly DirectoryKey[] {
  const { data } = keySchema.safeParse(value);
  if (data === undefined) return [];
  const id = thumbprintOf(data.x);
  if (data.kid !== undefined && data.kid !== id) return [];
  return [{ id, x: data.x, notBefore: data.nbf, notAfter: data.exp }];
}

/** RFC 7638 and RFC 8037, A.3: the required members in order, without blanks. */
export function thumbprintOf(x: string): string {
  const members = JSON.stringify({ crv: "Ed25519", kty: "OKP", x });
  return createHash("sha256").update(members).digest("base64url");
}
