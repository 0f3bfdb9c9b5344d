import { readFile } from "node:fs/promises";
import { expect, test } from "vitest";
import {
  type AddressFormat,
  parseAddressDocument,
} from "../../../src/core/bot/address-document.ts";
import { createAddressList } from "../../../src/core/bot/address-list.ts";

const FOLDER = new URL("../../fixtures/ranges/", import.meta.url);

type Row = readonly [
  file: string,
  format: AddressFormat,
  pointer: string | undefined,
  ipv4: number,
  ipv6: number,
];

/** Counted by another program: distinct blocks of each kind. */
const PUBLISHED: readonly Row[] = [
  ["ahrefs.json", "prefixes", undefined, 4, 0],
  ["amazonbot.json", "prefixes", undefined, 524, 0],
  ["amzn-searchbot.json", "prefixes", undefined, 512, 0],
  ["amzn-user.json", "prefixes", undefined, 1023, 0],
  ["anthropic-bots.json", "prefixes", undefined, 23, 0],
  ["anubis-applebot.txt", "text", undefined, 12, 0],
  ["anubis-arquivo-pt.txt", "text", undefined, 1, 0],
  ["anubis-google-utf.txt", "text", undefined, 226, 226],
  ["anubis-internet-archive.txt", "text", undefined, 2, 1],
  ["anubis-kagibot.txt", "text", undefined, 4, 0],
  ["anubis-lyrenth.txt", "text", undefined, 16, 0],
  ["anubis-marginalia.txt", "text", undefined, 5, 0],
  ["anubis-mojeekbot.txt", "text", undefined, 1, 0],
  ["anubis-qwantbot.txt", "text", undefined, 1, 0],
  ["anubis-updown.txt", "text", undefined, 10, 10],
  ["anubis-uptimerobot.txt", "text", undefined, 110, 107],
  ["anubis-wikimedia.txt", "text", undefined, 1, 1],
  ["anubis-xai.txt", "text", undefined, 1, 0],
  ["applebot.json", "prefixes", undefined, 33, 0],
  ["atlassian-shape.json", "list", "/items/*/cidr", 2, 1],
  ["aws-route53-cut.json", "prefixes", "/prefixes/[service=ROUTE53_HEALTHCHECKS]", 31, 0],
  ["aws-route53-cut.json", "prefixes", "/ipv6_prefixes/[service=ROUTE53_HEALTHCHECKS]", 0, 26],
  ["bingbot.json", "prefixes", undefined, 28, 0],
  ["bunny-cdn.json", "list", "/*", 590, 323],
  ["ccbot-canonry.json", "prefixes", undefined, 5, 1],
  ["ccbot.json", "prefixes", undefined, 4, 1],
  ["chatgpt-connectors.json", "prefixes", undefined, 261, 0],
  ["chatgpt-user-2026-08.json", "prefixes", undefined, 204, 0],
  ["chatgpt-user.json", "prefixes", undefined, 240, 0],
  ["checkly-static-ips.json", "list", undefined, 15, 0],
  ["datadog.json", "list", "/synthetics/prefixes_ipv4", 113, 0],
  ["datadog.json", "list", "/webhooks/*", 35, 0],
  ["datadog.json", "list", "/agents/*", 1, 1],
  ["duckassistbot.json", "prefixes", undefined, 481, 0],
  ["duckduckbot-helppage.md", "markdown", undefined, 238, 0],
  ["duckduckbot.json", "prefixes", undefined, 481, 0],
  ["fastly-cdn.json", "list", "/*", 19, 2],
  ["goodbots-ahrefsbot.txt", "text", undefined, 10350, 0],
  ["goodbots-applebot.txt", "text", undefined, 33, 0],
  ["goodbots-betteruptimebot.txt", "text", undefined, 17, 17],
  ["goodbots-bingbot.txt", "text", undefined, 28, 0],
  ["goodbots-cloudflare.txt", "text", undefined, 15, 7],
  ["goodbots-commoncrawlbot.txt", "text", undefined, 5, 1],
  ["goodbots-duckduckbot.txt", "text", undefined, 238, 0],
  ["goodbots-facebookbot.txt", "text", undefined, 416, 633],
  ["goodbots-freshpingbot.txt", "text", undefined, 11, 0],
  ["goodbots-googlebot.txt", "text", undefined, 169, 146],
  ["goodbots-marginalia.txt", "text", undefined, 13, 0],
  ["goodbots-mojeekbot.txt", "text", undefined, 1, 0],
  ["goodbots-outageowl.txt", "text", undefined, 1, 1],
  ["goodbots-pingdombot.txt", "text", undefined, 99, 57],
  ["goodbots-rssapi.txt", "text", undefined, 1, 1],
  ["goodbots-semrushbot.txt", "text", undefined, 1, 0],
  ["goodbots-stripewebhook.txt", "text", undefined, 15, 0],
  ["goodbots-telegrambot.txt", "text", undefined, 9, 5],
  ["goodbots-twitterbot.txt", "text", undefined, 3, 0],
  ["goodbots-uptimerobot.txt", "text", undefined, 103, 103],
  ["goodbots-webpagetestbot.txt", "text", undefined, 42, 0],
  ["goodbots-yandex.txt", "text", undefined, 14, 1],
  ["google-common-crawlers.json", "prefixes", undefined, 169, 146],
  ["google-special-crawlers.json", "prefixes", undefined, 133, 133],
  ["google-user-triggered-agents.json", "prefixes", undefined, 12, 8],
  ["google-user-triggered-fetchers-google.json", "prefixes", undefined, 247, 247],
  ["google-user-triggered-fetchers.json", "prefixes", undefined, 516, 516],
  ["googlebot-legacy-path.json", "prefixes", undefined, 166, 143],
  ["gptbot-canonry.json", "prefixes", undefined, 21, 0],
  ["gptbot.json", "prefixes", undefined, 21, 0],
  ["grafana-synthetics.json", "list", "/all/*", 3, 2],
  ["grafana-synthetics.json", "list", "/locations/*/ipv6", 0, 2],
  ["lordalfred-bing-ipv4.txt", "text", undefined, 28, 0],
  ["lordalfred-duckassistbot-ipv4.txt", "text", undefined, 481, 0],
  ["lordalfred-facebook-ipv4.txt", "text", undefined, 550, 0],
  ["lordalfred-facebook-ipv6.txt", "text", undefined, 0, 744],
  ["lordalfred-googlebot-ipv4.txt", "text", undefined, 169, 0],
  ["lordalfred-googlebot-ipv6.txt", "text", undefined, 0, 146],
  ["lordalfred-openai-ipv4.txt", "text", undefined, 254, 0],
  ["lordalfred-perplexity-ipv4.txt", "text", undefined, 12, 0],
  ["lordalfred-pingdom-ipv4.txt", "text", undefined, 99, 0],
  ["lordalfred-pingdom-ipv6.txt", "text", undefined, 0, 57],
  ["lordalfred-statuscake-ipv4.txt", "text", undefined, 183, 0],
  ["lordalfred-telegram-ipv4.txt", "text", undefined, 9, 0],
  ["lordalfred-telegram-ipv6.txt", "text", undefined, 0, 5],
  ["lordalfred-twitter-ipv4.txt", "text", undefined, 141, 0],
  ["lordalfred-twitter-ipv6.txt", "text", undefined, 0, 8],
  ["misp-censys.json", "list", "/list", 9, 4],
  ["misp-gptbot.json", "list", "/list", 2, 0],
  ["misp-telegram.json", "list", "/list", 9, 5],
  ["mistralai-index.json", "prefixes", undefined, 2, 0],
  ["mistralai-user.json", "prefixes", undefined, 4, 0],
  ["newrelic-synthetics.json", "list", "/*", 12, 0],
  ["newrelic-synthetics.json", "list", "/Washington, DC, USA", 7, 0],
  ["oai-adsbot.json", "prefixes", undefined, 2, 0],
  ["oai-searchbot-canonry.json", "prefixes", undefined, 35, 0],
  ["oai-searchbot.json", "prefixes", undefined, 35, 0],
  ["perplexity-user.json", "prefixes", undefined, 4, 0],
  ["perplexitybot.json", "prefixes", undefined, 8, 0],
  ["shapbot.json", "prefixes", undefined, 10, 0],
  ["site24x7-locations.json", "list", "/IP_Address_View/*/external_ip", 4, 0],
  ["site24x7-locations.json", "list", "/IP_Address_View/*/IPv6_Address_External", 0, 2],
  ["statuscake-locations.json", "list", "/*/ip", 4, 0],
  ["statuscake-locations.json", "list", "/*/ipv6", 0, 3],
  ["stripe-webhooks-shape.json", "list", "/WEBHOOKS", 3, 1],
  ["stripe.json", "list", "/webhooks", 15, 0],
  ["stripe.json", "list", "/*", 177, 0],
  ["updown-nodes.json", "list", "/*/ip", 4, 0],
  ["updown-nodes.json", "list", "/*/ip6", 0, 4],
  ["uptrends-ipv4.json", "list", "/Data", 5, 0],
];

test.each(PUBLISHED)("%s as `%s` %s holds %i + %i blocks", async (...row) => {
  const [file, format, pointer, ipv4, ipv6] = row;
  const document = parseAddressDocument(
    await readFile(new URL(file, FOLDER), "utf8"),
    format,
    pointer,
  );
  if (document.kind !== "document") throw new Error(document.reason);
  const list = createAddressList(document.entries);
  if (list.kind !== "list") throw new Error(list.reason);
  const isIpv6 = (prefix: string): boolean => prefix.includes(":");
  expect({
    ipv4: list.prefixes.filter((prefix) => !isIpv6(prefix)).length,
    ipv6: list.prefixes.filter(isIpv6).length,
    ignored: document.ignored,
    dropped: [...list.dropped],
  }).toEqual({ ipv4, ipv6, ignored: 0, dropped: [] });
});

test("the list of a whole cloud is refused, since each of its customers would be verified", async () => {
  const text = await readFile(new URL("google-goog.json", FOLDER), "utf8");
  const document = parseAddressDocument(text, "prefixes", undefined);
  if (document.kind !== "document") throw new Error(document.reason);
  expect(document.entries).toHaveLength(114);
  expect(createAddressList(document.entries)).toMatchObject({
    kind: "refused",
    reason: expect.stringMatching(/^covers \d+ IPv4 addresses; 4194304 at most$/),
  });
});

test("a cloud's list by service needs a pointer that chooses one", async () => {
  const text = await readFile(new URL("aws-route53-cut.json", FOLDER), "utf8");
  expect(parseAddressDocument(text, "prefixes", undefined)).toEqual({
    kind: "unreadable",
    reason: "lists several services; choose with `pointer`, such as `/prefixes/[service=NAME]`",
  });
});
