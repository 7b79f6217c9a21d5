// Stands for `cloudflare:workers` where a module only has to load: outside of workerd no object runs.

export class DurableObject {}
