import { expect, test } from "vitest";
import { readSettings, SettingsError, type SettingsTexts } from "../src/settings.ts";

const DEFAULTS = {
  listen: "127.0.0.1:9301",
  admin: "off",
  dataDir: "data",
  verifyTimeout: "500ms",
  logLevel: "info",
  logIp: "full",
};

function faultsOf(texts: object): readonly string[] {
  try {
    readSettings({ ...DEFAULTS, ledger: "off", ...texts } satisfies SettingsTexts);
    return [];
  } catch (error) {
    if (error instanceof SettingsError) return error.faults;
    throw error;
  }
}

test.each([
  "127.0.0.1",
  "127.0.0.1:5353",
  "::1",
  "[::1]",
  "[::1]:5353",
  "1.1.1.1, [2001:db8::53]:53",
])("--dns-servers takes %s", (dnsServers) => {
  expect(faultsOf({ dnsServers })).toEqual([]);
});

test.each([
  "resolver",
  "resolver:53",
  "127.0.0.1:0",
  "127.0.0.1:65536",
  "127.1",
  "::1:x",
  "1.1.1.1:",
])("--dns-servers refuses %s, and says what would be right", (dnsServers) => {
  expect(faultsOf({ dnsServers })).toEqual([
    `--dns-servers: \`${dnsServers}\` is no address; write \`192.0.2.53:53\` or \`[2001:db8::53]:53\``,
  ]);
});
