import { spawnSync } from "node:child_process";
import { mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

/** What another language's JOSE library makes of a receipt and of the event it stands for. */
export interface PythonVerdict {
  readonly claims: Readonly<Record<string, unknown>>;
  readonly header: Readonly<Record<string, unknown>>;
  /** The event's digest, computed there. */
  readonly digest: string;
  /** The thumbprint of the key that verified it, computed there. */
  readonly thumbprint: string;
}

export type PythonJose = (
  jwks: string,
  receipt: string,
  event: Readonly<Record<string, unknown>>,
) => PythonVerdict;

const PROGRAM = `
import base64, hashlib, json, sys
import jwt
given = json.load(sys.stdin)
def canonical(value):
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode()
header = jwt.get_unverified_header(given["receipt"])
[key] = [key for key in given["jwks"]["keys"] if key["kid"] == header["kid"]]
public = jwt.algorithms.OKPAlgorithm.from_jwk(json.dumps(key))
claims = jwt.decode(given["receipt"], public, algorithms=["EdDSA"])
uncovered = ["receipt", "receipt_id", "duration_us", "writer_id", "seq", "prev_hash", "hash", "hash_version"]
event = {name: value for name, value in given["event"].items() if name not in uncovered}
thumbprint = hashlib.sha256(canonical({name: key[name] for name in ("crv", "kty", "x")})).digest()
print(json.dumps({
    "claims": claims,
    "header": header,
    "digest": hashlib.sha256(canonical(event)).hexdigest(),
    "thumbprint": base64.urlsafe_b64encode(thumbprint).rstrip(b"=").decode(),
}))
`;

/** PyJWT: of this machine, else fetched by pip into a temporary folder; undefined where neither is. */
export function findPythonJose(): PythonJose | undefined {
  const present = ["python3", "/usr/bin/python3"].find((python) => hasJose(python, {}));
  if (present !== undefined) return joseOf(present, {});
  const folder = mkdtempSync(join(tmpdir(), "crawlwall-pyjwt-"));
  const packages = ["PyJWT", "cryptography"];
  spawnSync("python3", ["-m", "pip", "install", "--quiet", "--target", folder, ...packages], {
    timeout: 60_000,
  });
  const env = { PYTHONPATH: folder };
  return hasJose("python3", env) ? joseOf("python3", env) : undefined;
}

function hasJose(python: string, env: Readonly<Record<string, string>>): boolean {
  const program = "import jwt; jwt.algorithms.OKPAlgorithm";
  return spawnSync(python, ["-c", program], { env: { ...process.env, ...env } }).status === 0;
}

function joseOf(python: string, env: Readonly<Record<string, string>>): PythonJose {
  return (jwks, receipt, event) => {
    const input = JSON.stringify({ jwks: JSON.parse(jwks), receipt, event });
    const run = spawnSync(python, ["-c", PROGRAM], { env: { ...process.env, ...env }, input });
    if (run.status !== 0) throw new Error(run.stderr.toString());
    return JSON.parse(run.stdout.toString());
  };
}
