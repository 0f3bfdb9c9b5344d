/** What a proxy says of the visitor's request, in the X-Forwarded family (contract 3). */
export interface Forwarded {
  readonly method: string;
  /** One character a byte, as Node hands it over. */
  readonly uri: string;
  readonly host: string;
  readonly scheme: "http" | "https";
  readonly forwardedFor: string;
  /** One character a byte; empty when the visitor sent none. */
  readonly userAgent: string;
  /** Undefined when not trusted, absent, or not of 8 to 64 of `[A-Za-z0-9._-]`. */
  readonly requestId: string | undefined;
  /** The address is not proved yet: sent as TLS early data (RFC 8470). */
  readonly isEarlyData: boolean;
}

export type ForwardedResult =
  | { readonly kind: "forwarded"; readonly forwarded: Forwarded }
  /** A fault of the set-up, never of the visitor: he is not "a person" because a header is missing. */
  | { readonly kind: "misconfigured"; readonly cause: string };

interface Collected {
  method: string | undefined;
  uri: string | undefined;
  host: string | undefined;
  scheme: string | undefined;
  forwardedFor: string | undefined;
  userAgent: string | undefined;
  requestId: string | undefined;
  earlyData: string | undefined;
  /** A required name that came twice. */
  repeated: string | undefined;
}

/**
 * Reads the family from Node's flat list of names and values; each required one exactly once. The
 * request id is read only from a proxy that overwrites what the visitor sent.
 */
export function readForwarded(
  rawHeaders: readonly string[],
  trustRequestId: boolean,
): ForwardedResult {
  const fields = collect(rawHeaders);
  const { method, uri, host, scheme, forwardedFor } = fields;
  if (fields.repeated !== undefined) return misconfigured(fields.repeated, "came twice");
  if (isUnusable(uri)) return misconfigured("X-Forwarded-Uri", faultOf(uri));
  if (isUnusable(method)) return misconfigured("X-Forwarded-Method", faultOf(method));
  if (isUnusable(host)) return misconfigured("X-Forwarded-Host", faultOf(host));
  if (isUnusable(forwardedFor)) return misconfigured("X-Forwarded-For", faultOf(forwardedFor));
  if (scheme !== "http" && scheme !== "https") {
    return misconfigured(
      "X-Forwarded-Proto",
      isUnusable(scheme) ? faultOf(scheme) : "is no scheme",
    );
  }
  const forwarded: Forwarded = {
    method,
    uri,
    host,
    scheme,
    forwardedFor,
    userAgent: fields.userAgent ?? "",
    requestId: readRequestId(fields.requestId, trustRequestId),
    isEarlyData: fields.earlyData === "1",
  };
  return { kind: "forwarded", forwarded };
}

/** Absent, empty, or a placeholder that the proxy did not know and sent as it stands. */
function isUnusable(value: string | undefined): value is undefined | "" {
  return value === undefined || value === "" || (value.startsWith("{") && value.endsWith("}"));
}

function faultOf(value: string | undefined): string {
  if (value === undefined) return "is missing";
  return value === "" ? "is empty" : "is a placeholder that the proxy does not know";
}

function misconfigured(name: string, fault: string): ForwardedResult {
  return { kind: "misconfigured", cause: `${name} ${fault}` };
}

const REQUEST_ID = /^[A-Za-z0-9._-]{8,64}$/;

/** The id that a trusted proxy gives a request, if it is one. */
export function readRequestId(value: string | undefined, trusted: boolean): string | undefined {
  return trusted && value !== undefined && REQUEST_ID.test(value) ? value : undefined;
}

function collect(rawHeaders: readonly string[]): Collected {
  const fields: Collected = {
    method: undefined,
    uri: undefined,
    host: undefined,
    scheme: undefined,
    forwardedFor: undefined,
    userAgent: undefined,
    requestId: undefined,
    earlyData: undefined,
    repeated: undefined,
  };
  for (let index = 0; index + 1 < rawHeaders.length; index += 2) {
    const name = rawHeaders[index] ?? "";
    // The names that matter are 10 to 18 long: the others need no lower-case copy.
    if (name.length < 10 || name.length > 18) continue;
    keep(fields, name.toLowerCase(), rawHeaders[index + 1] ?? "");
  }
  return fields;
}

function keep(fields: Collected, name: string, value: string): void {
  switch (name) {
    case "x-forwarded-uri":
      fields.uri = once(fields, name, fields.uri, value);
      return;
    case "x-forwarded-for":
      fields.forwardedFor = once(fields, name, fields.forwardedFor, value);
      return;
    case "x-forwarded-host":
      fields.host = once(fields, name, fields.host, value);
      return;
    case "x-forwarded-proto":
      fields.scheme = once(fields, name, fields.scheme, value);
      return;
    case "x-forwarded-method":
      fields.method = once(fields, name, fields.method, value);
      return;
    // Of a repeated User-Agent the first one counts, as with the proxies and applications behind us.
    case "user-agent":
      fields.userAgent ??= value;
      return;
    case "x-request-id":
      fields.requestId ??= value;
      return;
    // RFC 8470, 5.1: several of them are as good as one `1`, so a visitor's own hides nothing.
    case "early-data":
      fields.earlyData = fields.earlyData === undefined ? value : "1";
  }
}

function once(fields: Collected, name: string, earlier: string | undefined, value: string): string {
  if (earlier !== undefined) fields.repeated = name;
  return value;
}
