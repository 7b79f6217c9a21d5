// The contract suite inside workerd, where stores over bindings are tested.

import { memoryStore } from "../../src/kernel/store/memory.ts";
import { describeStore } from "../../src/testing/index.ts";

describeStore({
  name: "memoryStore in workerd",
  open: () => memoryStore(),
  isAlone: "it counts for itself",
  damage: "nobody else reaches its memory",
});
