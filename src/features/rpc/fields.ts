/** What the body of a request calls. */

import type { AddedFields, Values } from "../../kernel/config/fields/field.ts";
import { condition } from "../../kernel/config/fields/match.ts";

declare module "../../kernel/core/policy.ts" {
  interface Policy {
    /**
     * The origin refuses requests whose headers name another call than their body, so that the headers are believed
     * where nobody can read the body. Absent: they are not.
     */
    readonly originChecksMcpHeaders?: true;
  }
}

/** Other characters stand in no name of a method or tool: whoever writes them means another syntax. */
const CALL_NAME = { is: "text", form: /^[^\s\\(){}[\]?+^|"'`,]{1,128}$/u } as const;

export const rpcFields = {
  own: {
    fields: {
      originChecksMcpHeaders: { is: "flag", default: false, isOfHead: true },
    },
    beside({ values, written, wrong }) {
      const { originChecksMcpHeaders: isOn, match, except, cost } = values;
      if (!isOn || [match, except, cost].flat().some(namesCalls)) return;
      const expected = "rpc or tool in match, except or cost beside it: it says how their calls are read";
      wrong("ERR_POLICY_ORIGIN_CHECKS_MCP_HEADERS", "originChecksMcpHeaders", expected, written.originChecksMcpHeaders);
    },
    compile: ({ originChecksMcpHeaders }) => (originChecksMcpHeaders ? { originChecksMcpHeaders } : {}),
    write: ({ originChecksMcpHeaders }) => (originChecksMcpHeaders ? { originChecksMcpHeaders } : {}),
  },
  conditions: {
    rpc: condition(
      CALL_NAME,
      'a method of JSON-RPC or a list of them, for example "resources/*"; * stands for any text',
    ),
    tool: condition(CALL_NAME, 'the name of a tool or a list of them, for example "delete*"; * stands for any text'),
  },
} as const satisfies AddedFields;

/** Whether a condition, as far as it is right, names a method or a tool. */
function namesCalls(condition: Values | undefined): boolean {
  return condition?.rpc !== undefined || condition?.tool !== undefined;
}
