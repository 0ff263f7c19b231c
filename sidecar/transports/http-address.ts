/** Apart from the rest of HTTP, so that reading the configuration loads none of it. */
export const isLoopback = (host: string) =>
  host === 'localhost' || host === '::1' || /^127\.\d{1,3}\.\d{1,3}\.\d{1,3}$/.test(host);

export const authority = (host: string, port: number) => `${host.includes(':') ? `[${host}]` : host}:${port}`;
