import io.grpc.CallOptions;
import io.grpc.InsecureChannelCredentials;
import io.grpc.Grpc;
import io.grpc.ManagedChannel;
import io.grpc.MethodDescriptor;
import io.grpc.stub.ClientCalls;
import io.grpc.stub.StreamObserver;
import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.atomic.AtomicReference;

/** A client of grpc-java with default options. It asks for pushes, and prints how many it received. */
public class Push {
    static final MethodDescriptor.Marshaller<byte[]> BYTES = new MethodDescriptor.Marshaller<>() {
        @Override
        public InputStream stream(byte[] value) {
            return new ByteArrayInputStream(value);
        }

        @Override
        public byte[] parse(InputStream stream) {
            try {
                return stream.readAllBytes();
            } catch (IOException e) {
                throw new UncheckedIOException(e);
            }
        }
    };

    public static void main(String[] args) throws Exception {
        ManagedChannel channel = Grpc.newChannelBuilder(args[0], InsecureChannelCredentials.create()).build();
        MethodDescriptor<byte[], byte[]> method = MethodDescriptor.<byte[], byte[]>newBuilder(BYTES, BYTES)
                .setType(MethodDescriptor.MethodType.BIDI_STREAMING)
                .setFullMethodName(args[1].substring(1))
                .build();
        int atOnce = Integer.parseInt(args[2]);
        CompletableFuture<Integer> done = new CompletableFuture<>();
        AtomicReference<StreamObserver<byte[]>> requests = new AtomicReference<>();
        requests.set(ClientCalls.asyncBidiStreamingCall(channel.newCall(method, CallOptions.DEFAULT),
                new StreamObserver<byte[]>() {
                    int received;

                    @Override
                    public void onNext(byte[] push) {
                        received++;
                        if (received % atOnce == 0) {
                            requests.get().onNext("more".getBytes());
                        }
                    }

                    @Override
                    public void onError(Throwable error) {
                        done.completeExceptionally(error);
                    }

                    @Override
                    public void onCompleted() {
                        done.complete(received);
                    }
                }));
        requests.get().onNext("more".getBytes());
        System.out.println(done.get());
        channel.shutdownNow();
    }
}
