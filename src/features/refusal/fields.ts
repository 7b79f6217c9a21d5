/** A policy's own answer to the requests that it refuses. */

import { isTable, parseJson } from "../../kernel/config/bindings.ts";
import type { ClientWords, FeatureFields } from "../../kernel/config/fields/field.ts";

/** The statuses of refusals that clients understand as "not now". */
const STATUSES = [402, 403, 420, 421, 422, 423, 424, 425, 426, 427, 428, 429, 503];
const USUAL_STATUS = 429;
/** For forms that have errors of their own. */
export const OK = 200;
/** Characters. Every refusal sends it. */
const LONGEST_BODY = 8_192;
/** The codes of JSON-RPC that clients keep in 32 bits. JSON-RPC itself has those from -32768 to -32000. */
const MAX_CODE = 2_147_483_647;

const STATUS_EXPECTED = '402, 403, 420 to 429 or 503, or 200 beside as = "auto"';

const DEFAULT_TYPE = "application/json";
const PLACEHOLDERS = ["{retryAfter}", "{policy}", "{limit}"];

export const refusalFields = {
  fields: {
    refusal: {
      is: "table",
      fields: {
        status: { is: "choice", numbers: [...STATUSES, OK], default: USUAL_STATUS, expected: STATUS_EXPECTED },
        as: { is: "word", words: ["problem", "auto"], isOptional: true },
        type: {
          is: "text",
          form: /^[\w.+-]{1,64}\/[\w.+-]{1,64}(?: *; *[\w.+-]{1,64}=(?:[\w.+-]{1,64}|"[\w.+ -]{1,64}"))*$/,
          expected: 'a media type, for example "application/json"',
          isOptional: true,
        },
        body: {
          is: "text",
          form: new RegExp(`^[\\s\\S]{1,${LONGEST_BODY}}$`),
          expected: `a string of 1 to ${LONGEST_BODY} characters`,
          isOptional: true,
        },
        code: {
          is: "integer",
          least: -MAX_CODE,
          most: MAX_CODE,
          isRight: (code: number) => code < -32_768 || code > -32_000,
          expected: "an integer of 32 bits outside of -32768 to -32000, which JSON-RPC has for itself",
          isOptional: true,
        },
      },
      expected: "a table with status or body, for example { status = 403, body = '{\"seconds\":{retryAfter}}' }",
      isOptional: true,
      isOfHead: true,
    },
  },
  /** A wrong body would be sent to every refused client, and nobody would notice before. */
  beside({ written, wrong }) {
    if (!isTable(written.refusal)) return;
    const { as, status } = written.refusal;
    if (Number(status) === OK && as !== "auto") wrong("ERR_POLICY_REFUSAL", "refusal.status", STATUS_EXPECTED, status);
    for (const name of ["type", "body"]) {
      const found = written.refusal[name];
      if (as === undefined || found === undefined) continue;
      wrong("ERR_POLICY_REFUSAL", `refusal.${name}`, `no ${name} beside as, which says the form`, found);
    }
    const misfit = misfitOf(written.refusal);
    if (misfit) wrong("ERR_POLICY_REFUSAL", "refusal.body", misfit.expected, misfit.found);
  },
  compile({ refusal }) {
    if (refusal === undefined) return {};
    return { refusal: refusal.body === undefined ? refusal : { type: DEFAULT_TYPE, ...refusal } };
  },
} as const satisfies FeatureFields;

export const refusalWords = {
  tell: ({ refusal }) => refusal && { refusal: { status: refusal.status } },
  say: ({ refusal: { status } = { status: USUAL_STATUS } }) => ({
    whenRefused:
      status === USUAL_STATUS
        ? undefined
        : `${status === OK ? "the answer to a JSON-RPC request" : "the answer"} is ${status}`,
  }),
} as const satisfies ClientWords;

/** What is wrong with a body beside its type. */
function misfitOf({ type, body }: Readonly<Record<string, unknown>>) {
  // Other values have been reported.
  if (typeof (type ?? "") !== "string" || typeof (body ?? "") !== "string" || body === "") return undefined;
  if (typeof body !== "string") return type === undefined ? undefined : { expected: "a body beside type", found: body };
  const unknown = body.match(/\{\s*\w+\s*\}/g)?.find((one) => !PLACEHOLDERS.includes(one));
  if (unknown !== undefined) return { expected: `only the placeholders ${PLACEHOLDERS.join(", ")}`, found: unknown };
  if (typeof type === "string" && !/^[^;]*[/+]json\b/i.test(type)) return undefined;
  // Names and ids are of a-z, 0-9 and -: with any of them a body is JSON, or with none.
  const isJson = (seconds: string) =>
    parseJson(body.replaceAll("{retryAfter}", seconds).replaceAll(/\{(?:policy|limit)\}/g, "a-1")) !== undefined;
  if (isJson("1") && isJson("null")) return undefined;
  return {
    expected: 'JSON, or a type such as "text/plain"; {policy} and {limit} are strings and need quotes',
    found: body,
  };
}
