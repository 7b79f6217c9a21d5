/** The policy of a setting as text to copy. What is the default is left out. */

import { policyInputOf, type Setting } from "./setting.ts";

const DEFAULTS: Readonly<Record<string, unknown>> = {
  ...{ algorithm: "sliding-window", buckets: 1, consistency: "strict", onStoreFailure: "local", sync: "1000ms" },
};

/** For the gateway. */
export function tomlOf(setting: Setting): string {
  const policy = policyInputOf(setting);
  return ["[[vars.POLICIES]]", ...fieldsOf({ ...policy, key: [policy.key] }, " = "), ""].join("\n");
}

/** For the library. */
export function codeOf(setting: Setting): string {
  const { consistency } = setting;
  const feature = { strict: undefined, leased: "leases", shared: "shared" }[consistency];
  const imports = ["createLimiter", ...(feature ? [feature] : []), "storeFromEnv"];
  const features = feature ? `, features: [${feature}()]` : "";
  return [
    `import { ${imports.join(", ")} } from "headgate";`,
    "",
    "const policies = [",
    "  {",
    ...fieldsOf(policyInputOf(setting), ": ").map((line) => `    ${line},`),
    "  },",
    "];",
    `const limiter = createLimiter({ policies, store: storeFromEnv(env)${features} });`,
    "",
  ].join("\n");
}

function fieldsOf(values: object, sign: string): string[] {
  const chosen = Object.entries(values).filter(([name, value]) => DEFAULTS[name] !== value);
  return chosen.map(([name, value]) => `${name}${sign}${textOf(value, sign)}`);
}

function textOf(value: unknown, sign: string): string {
  if (Array.isArray(value)) return `[${value.map((one) => textOf(one, sign)).join(", ")}]`;
  return typeof value === "object" ? `{ ${fieldsOf(value!, sign).join(", ")} }` : JSON.stringify(value);
}
