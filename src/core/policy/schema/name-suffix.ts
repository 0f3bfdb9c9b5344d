const LABEL = /^[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?$/;

/** Second-level names under which anybody can register; a top-level name alone is refused anyway. */
const REGISTRIES: ReadonlySet<string> = new Set(
  [
    "ac.uk co.uk gov.uk ltd.uk me.uk net.uk org.uk plc.uk",
    "com.ar com.au com.br com.cn com.co com.eg com.hk com.mx com.my com.ng com.pe com.ph com.pk",
    "com.pl com.ru com.sa com.sg com.tr com.tw com.ua com.vn net.au net.br net.cn org.au org.br",
    "co.id co.il co.in co.jp co.ke co.kr co.nz co.th co.za or.jp ne.jp ac.jp or.kr edu.au eu.org",
  ].flatMap((row) => row.split(" ")),
);

/** Names that a cloud gives to any customer's machine: they prove the landlord, not the tenant. */
const LANDLORDS: ReadonlySet<string> = new Set([
  "amazonaws.com",
  "compute.amazonaws.com",
  "googleusercontent.com",
  "bc.googleusercontent.com",
  "cloudapp.net",
  "cloudapp.azure.com",
  "linodeusercontent.com",
  "your-server.de",
  "vultrusercontent.com",
]);

/** A suffix of host names, or what is wrong with it. */
export type SuffixResult =
  | { readonly kind: "suffix"; readonly suffix: string }
  | { readonly kind: "bad"; readonly reason: string };

/**
 * Reads a suffix that the reverse name of a crawler's address must end in; lower-case, with a leading
 * dot, so that it matches at a label alone. A suffix that anybody can get a name under is refused.
 */
export function parseNameSuffix(written: string): SuffixResult {
  const name = written.toLowerCase().replace(/^\./, "").replace(/\.$/, "");
  const labels = name.split(".");
  if (name.length > 253 || !labels.every((label) => LABEL.test(label))) {
    return {
      kind: "bad",
      reason: "is no suffix of host names; write one such as `.googlebot.com`",
    };
  }
  if (labels.length === 1 || REGISTRIES.has(name)) {
    return { kind: "bad", reason: "lets anybody in; write the operator's own domain" };
  }
  if (LANDLORDS.has(name)) {
    return {
      kind: "bad",
      reason: "lets every customer of that host in; write the crawler's own domain",
    };
  }
  return { kind: "suffix", suffix: `.${name}` };
}
