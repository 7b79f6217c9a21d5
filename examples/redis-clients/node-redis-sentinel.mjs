import { redisStore } from "headgate";
import { createSentinel } from "redis";

const connect = () => {
  const sentinel = createSentinel({
    sentinelRootNodes: [{ host: "127.0.0.1", port: 26379 }],
    name: "mymaster",
    maxCommandRediscovers: 0,
    nodeClientOptions: { disableOfflineQueue: true },
  });
  sentinel.on("error", (error) => console.error(error.message));
  sentinel.connect().catch(() => {});
  return sentinel;
};
let redis = connect();

export const store = redisStore({
  command: (args) => redis.sendCommand(false, args),
  keySecret: process.env.KEY_SECRET ?? "",
  reconnect() {
    redis.destroy().catch(() => {});
    redis = connect();
  },
});
