/**
 * The exact sum of decimals, each taken a number of times, with as many places as the longest of them
 * has. Amounts are unsigned and without exponent (contract 4); any other text counts as nothing.
 */
export function sumDecimals(terms: readonly (readonly [amount: string, times: number])[]): string {
  const known = terms.filter(([amount]) => /^\d{1,64}(?:\.\d{1,64})?$/.test(amount));
  const places = known.reduce((most, [amount]) => Math.max(most, fractionOf(amount).length), 0);
  let sum = 0n;
  for (const [amount, times] of known) {
    const [whole = "0"] = amount.split(".", 1);
    sum += BigInt(whole + fractionOf(amount).padEnd(places, "0")) * BigInt(times);
  }
  if (places === 0) return String(sum);
  const digits = String(sum).padStart(places + 1, "0");
  return `${digits.slice(0, -places)}.${digits.slice(-places)}`;
}

function fractionOf(amount: string): string {
  return amount.split(".")[1] ?? "";
}
