import { InvalidArgumentError, Option } from "commander";

/** A flag with its environment variable: `--data-dir` is `CRAWLWALL_DATA_DIR` (contract 2). */
export function flag(flags: string, description: string, fallback?: string): Option {
  const name = /--([a-z-]+)/.exec(flags)?.[1] ?? "";
  const option = new Option(flags, description);
  option.env(`CRAWLWALL_${name.toUpperCase().replaceAll("-", "_")}`);
  return fallback === undefined ? option : option.default(fallback);
}

/** A switch: on by its name alone, and by `true` in its environment variable; `false` is off there. */
export function switchFlag(name: string, description: string): Option {
  return flag(`${name} [yes]`, description).preset("true").argParser(readSwitch);
}

function readSwitch(text: string): boolean {
  const word = text.toLowerCase();
  if (["true", "1", "yes", "on"].includes(word)) return true;
  if (["false", "0", "no", "off", ""].includes(word)) return false;
  throw new InvalidArgumentError("write true or false");
}
