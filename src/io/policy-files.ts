import { existsSync, type FSWatcher, readdirSync, readFileSync, statSync, watch } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";

/** A file as it was read. */
export interface PolicyText {
  readonly file: string;
  readonly text: string;
}

/** Everything that a set of policies is compiled from. */
export interface PolicyTexts {
  readonly policies: readonly PolicyText[];
  /** The crawlers that ship with the package. */
  readonly catalog: readonly PolicyText[];
  /** The operator's own entries, laid over them. */
  readonly overlay: readonly PolicyText[];
}

export type PolicyTextsResult =
  | { readonly kind: "texts"; readonly texts: PolicyTexts }
  | { readonly kind: "unreadable"; readonly causes: readonly string[] };

/** The folder that is looked for where no `--policies` is given. */
const DEFAULT_FOLDER = "policies";

const PACKAGED = fileURLToPath(new URL("../../policies/", import.meta.url));

/** The policy that runs where there is no other: shadow, any host. */
export const EMBEDDED_POLICY: string = join(PACKAGED, "default.yaml");

/** What `--policies` means: the path given, else the default folder, else the embedded policy. */
export function policiesPath(given: string | undefined): string {
  if (given !== undefined) return given;
  return existsSync(DEFAULT_FOLDER) ? DEFAULT_FOLDER : EMBEDDED_POLICY;
}

/** Reads a policy file, or every `*.yaml` directly in a folder; every unreadable file is named. */
export function readPolicyTexts(path: string): PolicyTextsResult {
  const causes: string[] = [];
  const isFolder = isDirectory(path, causes);
  const files = isFolder === true ? yamlFilesIn(path, causes) : [path];
  if (isFolder === true && files.length === 0 && causes.length === 0) {
    causes.push(`${path}: holds no policy; put a \`*.yaml\` file into it`);
  }
  const overlayFolder = join(isFolder === true ? path : dirname(path), "catalog");
  const packagedFolder = join(PACKAGED, "catalog");
  const texts: PolicyTexts = {
    policies: isFolder === undefined ? [] : readAll(files, causes),
    catalog: readCatalogFolder(packagedFolder, causes),
    overlay:
      resolve(overlayFolder) === packagedFolder ? [] : readCatalogFolder(overlayFolder, causes),
  };
  return causes.length === 0 ? { kind: "texts", texts } : { kind: "unreadable", causes };
}

/** Undefined, with a cause, where there is nothing at all. */
function isDirectory(path: string, causes: string[]): boolean | undefined {
  try {
    return statSync(path).isDirectory();
  } catch (error) {
    causes.push(`${path}: ${reasonOf(error)}`);
    return undefined;
  }
}

function yamlFilesIn(folder: string, causes: string[]): readonly string[] {
  try {
    return readdirSync(folder, { withFileTypes: true })
      .filter((entry) => !entry.isDirectory() && /\.ya?ml$/.test(entry.name))
      .map((entry) => join(folder, entry.name))
      .sort();
  } catch (error) {
    causes.push(`${folder}: ${reasonOf(error)}`);
    return [];
  }
}

function readCatalogFolder(folder: string, causes: string[]): readonly PolicyText[] {
  return existsSync(folder) ? readAll(yamlFilesIn(folder, causes), causes) : [];
}

function readAll(files: readonly string[], causes: string[]): readonly PolicyText[] {
  return files.flatMap((file) => {
    try {
      return [{ file, text: readFileSync(file, "utf8") }];
    } catch (error) {
      causes.push(`${file}: ${reasonOf(error)}`);
      return [];
    }
  });
}

function reasonOf(error: unknown): string {
  if (error instanceof Error && "code" in error) {
    if (error.code === "ENOENT") return "does not exist";
    if (error.code === "EACCES") return "may not be read";
  }
  return error instanceof Error ? error.message : String(error);
}

/** Editors and deployments touch several files in a row: one reload for all of it. */
const SETTLE_MS = 200;

/** Logs and data may lie in the same folder. `..data` is the link that Kubernetes swaps for a new set. */
const CHANGES = /\.ya?ml$|^\.\.data$/;

/** Calls `onChange` some time after files at the path have changed, until it is closed. */
export function watchPolicyFiles(
  path: string,
  onChange: () => void,
  onError: (error: unknown) => void,
): { close(): void } {
  const folder = statSync(path).isDirectory() ? path : dirname(path);
  const watched = [folder, join(folder, "catalog")].filter((each) => existsSync(each));
  let timer: NodeJS.Timeout | undefined;
  const settle = (): void => {
    clearTimeout(timer);
    timer = setTimeout(onChange, SETTLE_MS);
    timer.unref();
  };
  const watchers: FSWatcher[] = watched.map((each) =>
    watch(each, { persistent: false }, (_, name) => {
      if (name === null || CHANGES.test(name)) settle();
    }).on("error", onError),
  );
  return {
    close: () => {
      clearTimeout(timer);
      for (const watcher of watchers) watcher.close();
    },
  };
}
