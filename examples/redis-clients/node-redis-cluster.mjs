import { redisStore } from "headgate";
import { createCluster } from "redis";

const redis = createCluster({
  rootNodes: [{ url: "redis://127.0.0.1:7000" }],
  defaults: { disableOfflineQueue: true },
});
redis.on("error", (error) => console.error(error.message));
const connect = () => redis.connect().catch(() => {});
connect();

export const store = redisStore({
  command: (args, key) => redis.sendCommand(key, false, args),
  keySecret: process.env.KEY_SECRET ?? "",
  reconnect() {
    if (redis.isOpen) redis.destroy();
    connect();
  },
});
