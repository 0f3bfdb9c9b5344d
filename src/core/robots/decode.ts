/** Most bytes of a robots.txt that are read: 500 KiB, as RFC 9309 section 2.5 asks at least. */
export const LONGEST_ROBOTS_BYTES = 512_000;

/** The text of a robots.txt, or why its bytes are none. */
export type DecodedRobots =
  | {
      readonly kind: "text";
      readonly text: string;
      /** Whether something beyond the limit, or a last line that the limit cut, was left out. */
      readonly isTruncated: boolean;
      /** Whether the file is UTF-16. */
      readonly isUtf16: boolean;
    }
  | { readonly kind: "html" }
  | { readonly kind: "binary" };

const HTML_STARTS = /^[ \t\r\n\v\f]*<(?:!doctype|html|head|body|script|meta|title|\?xml|!--|svg)/i;
const NUL_WINDOW = 1024;

/**
 * Turns bytes into text; any bytes will do. UTF-16 is read by its byte order mark, or where `charset`
 * says so; all else is UTF-8, with U+FFFD for what is not. `isCut`: more bytes came and were dropped.
 */
export function decodeRobots(
  bytes: Uint8Array,
  charset: string | undefined,
  isCut = false,
): DecodedRobots {
  const isTruncated = isCut || bytes.length > LONGEST_ROBOTS_BYTES;
  const kept = bytes.subarray(0, LONGEST_ROBOTS_BYTES);
  const { encoding, start } = detectEncoding(kept, charset);
  // The decoder would drop any byte order mark unseen; only the first one may go.
  const decoded = new TextDecoder(encoding, { ignoreBOM: true }).decode(kept.subarray(start));
  if (decoded.slice(0, NUL_WINDOW).includes("\0")) return { kind: "binary" };
  if (HTML_STARTS.test(decoded)) return { kind: "html" };
  return {
    kind: "text",
    text: isTruncated ? dropPartialLine(decoded) : decoded,
    isTruncated,
    isUtf16: encoding !== "utf-8",
  };
}

/** The `charset` parameter of a Content-Type, lower-case. */
export function charsetOf(contentType: string | undefined): string | undefined {
  return /;[ \t]*charset[ \t]*=[ \t]*"?([^\s;"]+)/i.exec(contentType ?? "")?.[1]?.toLowerCase();
}

function detectEncoding(
  bytes: Uint8Array,
  charset: string | undefined,
): { readonly encoding: string; readonly start: number } {
  if (bytes[0] === 0xff && bytes[1] === 0xfe) return { encoding: "utf-16le", start: 2 };
  if (bytes[0] === 0xfe && bytes[1] === 0xff) return { encoding: "utf-16be", start: 2 };
  if (charset === "utf-16" || charset === "utf-16le") return { encoding: "utf-16le", start: 0 };
  if (charset === "utf-16be") return { encoding: "utf-16be", start: 0 };
  return { encoding: "utf-8", start: partialMark(bytes) };
}

/** The reference parser skips the UTF-8 byte order mark, and what is left of a broken one. */
function partialMark(bytes: Uint8Array): number {
  const broken = [0xef, 0xbb, 0xbf].findIndex((byte, index) => bytes[index] !== byte);
  return broken === -1 ? 3 : broken;
}

// A cut `Crawl-delay: 10` would be a wrong `Crawl-delay: 1`.
function dropPartialLine(text: string): string {
  const end = Math.max(text.lastIndexOf("\n"), text.lastIndexOf("\r"));
  return text.slice(0, end + 1);
}
