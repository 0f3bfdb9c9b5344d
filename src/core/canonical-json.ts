/**
 * The canonical text of a JSON value (RFC 8785): members in UTF-16 order, no white space, numbers
 * and strings as ECMAScript writes them. Members that are undefined are left out, as in JSON.
 */
export function canonicalJson(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(canonicalJson).join(",")}]`;
  if (typeof value !== "object" || value === null) return JSON.stringify(value) ?? "null";
  const members: string[] = [];
  for (const [name, member] of Object.entries(value).sort(byName)) {
    if (member !== undefined) members.push(`${JSON.stringify(name)}:${canonicalJson(member)}`);
  }
  return `{${members.join(",")}}`;
}

function byName(left: readonly [string, unknown], right: readonly [string, unknown]): number {
  if (left[0] === right[0]) return 0;
  return left[0] < right[0] ? -1 : 1;
}
