export { type GrpcTransport, grpcTransport } from './grpc-client.ts';
export { type GrpcListener, serveGrpc } from './grpc-server.ts';
export { type WatchedCertificate, type WatchedCertificateOptions, watchCertificate } from './watched-certificate.ts';
