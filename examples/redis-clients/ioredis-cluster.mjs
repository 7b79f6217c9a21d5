import { redisStore } from "headgate";
import { Cluster } from "ioredis";

const redis = new Cluster([{ host: "127.0.0.1", port: 7000 }], {
  enableOfflineQueue: false,
  retryDelayOnFailover: 0,
  redisOptions: { autoResendUnfulfilledCommands: false, maxRetriesPerRequest: 0, socketTimeout: 5_000 },
});
redis.on("error", (error) => console.error(error.message));
// Connects to all nodes at once: otherwise the first commands for each node fail.
redis.on("ready", () => {
  for (const node of redis.nodes()) node.connect().catch(() => {});
});

export const store = redisStore({
  command: ([name, ...args]) => redis.call(name, ...args),
  keySecret: process.env.KEY_SECRET ?? "",
  reconnect: () => redis.disconnect(true),
});
