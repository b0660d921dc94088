/** Where the gateway listens unless HOST says otherwise; an empty HOST counts as left out. */
export function gatewayHost(environment: { readonly HOST?: string | undefined }): string {
  return environment.HOST?.trim() || '127.0.0.1';
}

/** The URL by which a gateway that listens on a host is reached from this machine. */
export function gatewayUrl(host: string, port: number | string): string {
  const reached = host === '0.0.0.0' || host === '::' ? '127.0.0.1' : host;
  return `http://${reached.includes(':') ? `[${reached}]` : reached}:${port}`;
}
