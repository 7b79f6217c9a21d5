export { default } from "headgate/worker";
