import {
  type CelUint,
  type CelValue,
  isCelError,
  isCelList,
  isCelMap,
  isCelUint,
} from "@bufbuild/cel";
import { CEL_ENV } from "./cel-env.ts";
import { Failure } from "./term.ts";

/** Calls a function of the reference evaluator, so that its meaning is that one by construction. */
export function applyFunction(
  name: string,
  isMethod: boolean,
  args: readonly CelValue[],
): CelValue | Failure {
  const [target, ...rest] = args;
  const group = CEL_ENV.funcs.find(name);
  const result = isMethod ? group?.call(0, target, rest) : group?.call(0, undefined, [...args]);
  if (result === undefined) return new Failure(`no way to apply \`${name}\``);
  return isCelError(result) ? new Failure(result.message) : result;
}

/** `operand[key]` of a list or a map. */
export function lookUp(operand: CelValue, key: CelValue): CelValue | Failure {
  if (isCelMap(operand) && isMapKey(key)) {
    return operand.get(key) ?? absentKey(key);
  }
  if (isCelList(operand) && typeof key === "bigint") {
    return operand.get(Number(key)) ?? absentKey(key);
  }
  return absentKey(key);
}

/** Whether a value can be the key of a map. */
export function isMapKey(key: CelValue): key is string | bigint | boolean | CelUint {
  return (
    typeof key === "string" || typeof key === "bigint" || typeof key === "boolean" || isCelUint(key)
  );
}

/** The error of a look-up, in the words of the reference evaluator. */
export function absentKey(key: CelValue): Failure {
  if (typeof key === "string" || typeof key === "boolean") {
    return new Failure(`field not found: ${key}`);
  }
  const index = isCelUint(key) ? key.value : key;
  return new Failure(`index ${Number(index)} out of bounds [0, -1)`);
}

/** What a macro runs over: the elements of a list, or the keys of a map. */
export function itemsOf(range: CelValue): readonly CelValue[] {
  if (isCelList(range)) return [...range];
  return isCelMap(range) ? [...range.keys()] : [];
}
