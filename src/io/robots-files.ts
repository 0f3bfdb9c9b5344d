import { chmodSync, mkdirSync, readdirSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";

/**
 * Keeps the last good files where the proxy finds them while we are down: `<host>.txt`, readable by
 * everybody. A host that is not named has no file afterwards. Throws where the folder cannot be
 * written.
 */
export function writeRobotsFiles(folder: string, bodies: ReadonlyMap<string, string>): void {
  mkdirSync(folder, { recursive: true });
  chmodSync(folder, 0o755);
  for (const [host, body] of bodies) {
    const draft = join(folder, `.${host}.tmp`);
    writeFileSync(draft, body);
    // The proxy runs as another user, whatever the umask.
    chmodSync(draft, 0o644);
    renameSync(draft, join(folder, `${host}.txt`));
  }
  for (const name of readdirSync(folder)) {
    if (name.endsWith(".txt") && !bodies.has(name.slice(0, -4))) rmSync(join(folder, name));
  }
}
