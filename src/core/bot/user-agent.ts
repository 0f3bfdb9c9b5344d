import { Buffer } from "node:buffer";

/** No more than this of a User-Agent is looked at, in bytes: far beyond any honest one. */
export const USER_AGENT_LIMIT = 2048;

const NOT_ASCII = /[\u0080-\uffff]/;
const UTF8_BYTES =
  /(?:[\xc2-\xdf][\x80-\xbf]|[\xe0-\xef][\x80-\xbf]{2}|[\xf0-\xf4][\x80-\xbf]{3})+/g;
const INVISIBLE = /[\p{Cf}\p{M}\p{Default_Ignorable_Code_Point}]/gu;

/**
 * The first 2 KiB of a User-Agent as its words look to a person, in UTF-8 with one char a byte:
 * invisible characters and combining marks are gone; full-width, mathematical and other compatibility
 * forms are plain letters (Unicode NFKC). Node gives header values as one char a byte, too; where
 * those bytes are UTF-8, they are read so. ASCII stays as it is.
 */
export function plainUserAgent(userAgent: string): string {
  const head =
    userAgent.length > USER_AGENT_LIMIT ? userAgent.slice(0, USER_AGENT_LIMIT) : userAgent;
  if (!NOT_ASCII.test(head)) return head;
  const decoded = head.replace(UTF8_BYTES, (bytes) => Buffer.from(bytes, "latin1").toString());
  const plain = decoded.replace(INVISIBLE, "").normalize("NFKC");
  return Buffer.from(plain).toString("latin1");
}

/** ASCII letters in lower case, other chars as they are. */
export function foldCase(text: string): string {
  return text.replace(/[A-Z]+/g, (letters) => letters.toLowerCase());
}
