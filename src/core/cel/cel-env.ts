import {
  type CelEnv,
  type CelFunc,
  type CelMap,
  CelScalar,
  celEnv,
  celFunc,
  celMethod,
  mapType,
} from "@bufbuild/cel";
import { strings } from "@bufbuild/cel/ext";
import { inCidr, pathUnder } from "./functions.ts";
import { compilePattern } from "./patterns.ts";
import { lowerAscii, replaceText, upperAscii } from "./text-functions.ts";

/** The name under which the reference evaluator finds the header fields of `header(name)`. */
export const HEADERS_VARIABLE = "@headers";
/** What `header(name)` is called once it takes the header fields as an argument. */
export const HEADER_FUNCTION = "@header";

/** The reference evaluator's functions: those of CEL, of its strings extension, and ours. */
export const CEL_ENV: CelEnv = createCelEnv();

function createCelEnv(): CelEnv {
  const { BOOL, STRING } = CelScalar;
  return celEnv({
    funcs: [
      ...strings,
      ...linearStrings(),
      celFunc("pathUnder", [STRING, STRING], BOOL, pathUnder),
      celFunc("inCidr", [STRING, STRING], BOOL, inCidr),
      celFunc(HEADER_FUNCTION, [mapType(STRING, STRING), STRING], STRING, headerValue),
    ],
    re2: { compile: compilePattern },
  });
}

/** Functions of the strings extension that take time by the square of a client's text, or nearly. */
function linearStrings(): readonly CelFunc[] {
  const { INT, STRING } = CelScalar;
  return [
    celMethod("lowerAscii", STRING, [], STRING, function () {
      return lowerAscii(this);
    }),
    celMethod("upperAscii", STRING, [], STRING, function () {
      return upperAscii(this);
    }),
    celMethod("replace", STRING, [STRING, STRING], STRING, function (part, by) {
      return replaceText(this, part, by, this.length);
    }),
    celMethod("replace", STRING, [STRING, STRING, INT], STRING, function (part, by, limit) {
      return replaceText(this, part, by, Number(limit));
    }),
  ];
}

/** `header(name)`: in any case, and empty when the field is absent. */
function headerValue(headers: CelMap, name: string): string {
  const value = headers.get(name.toLowerCase());
  return typeof value === "string" ? value : "";
}
