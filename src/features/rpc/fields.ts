/** What the body of a request calls. */

import type { AddedFields } from "../../kernel/config/fields/field.ts";
import { condition } from "../../kernel/config/fields/match.ts";

/** Other characters stand in no name of a method or tool: whoever writes them means another syntax. */
const CALL_NAME = { is: "text", form: /^[^\s\\(){}[\]?+^|"'`,]{1,128}$/u } as const;

export const rpcFields = {
  conditions: {
    rpc: condition(
      CALL_NAME,
      'a method of JSON-RPC or a list of them, for example "resources/*"; * stands for any text',
    ),
    tool: condition(CALL_NAME, 'the name of a tool or a list of them, for example "delete*"; * stands for any text'),
  },
} as const satisfies AddedFields;
