export { default, RateLimitService } from "headgate/worker";
