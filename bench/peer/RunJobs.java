import com.hazelcast.client.config.ClientConfig;
import com.hazelcast.instance.impl.HazelcastInstanceImpl;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.Collections;
import java.util.Locale;
import org.apache.seatunnel.common.config.Common;
import org.apache.seatunnel.common.config.DeployMode;
import org.apache.seatunnel.engine.client.SeaTunnelClient;
import org.apache.seatunnel.engine.client.job.ClientJobExecutionEnvironment;
import org.apache.seatunnel.engine.client.job.ClientJobProxy;
import org.apache.seatunnel.engine.client.job.JobMetricsRunner.JobMetricsSummary;
import org.apache.seatunnel.engine.common.config.ConfigProvider;
import org.apache.seatunnel.engine.common.config.JobConfig;
import org.apache.seatunnel.engine.common.config.SeaTunnelConfig;
import org.apache.seatunnel.engine.core.job.JobResult;
import org.apache.seatunnel.engine.server.SeaTunnelServerStarter;

/**
 * Starts the engine and a client in this process, then runs the job files named on standard input, one a
 * line, one after the other. Behind a tab may stand the id that the job is to have, and behind another one
 * "restore": it goes on from its newest checkpoint. Prints one JSON line when the engine is up and one per job: the seconds of a
 * job are from reading its file until its result is known, so the engine's start is in none of them.
 *
 * "stream", a tab and a file begin a job that does not end by itself: a line says that it was submitted. The next line must be
 * "cancel": it ends the job, and prints its result.
 */
public final class RunJobs {
    private static final String CLUSTER = "bench";
    private static final String STREAM = "stream\t";
    private static final String CANCEL = "cancel";

    public static void main(String[] arguments) throws Exception {
        // Standard output carries JSON lines only; what the engine prints goes to standard error.
        PrintStream answers = System.out;
        System.setOut(System.err);
        long started = System.nanoTime();
        Common.setDeployMode(DeployMode.CLIENT);
        SeaTunnelConfig config = ConfigProvider.locateAndGetSeaTunnelConfig();
        config.getHazelcastConfig().setClusterName(CLUSTER);
        HazelcastInstanceImpl engine = SeaTunnelServerStarter.createHazelcastInstance(config);
        ClientConfig clientConfig = ConfigProvider.locateAndGetClientConfig();
        clientConfig.setClusterName(CLUSTER);
        SeaTunnelClient client = new SeaTunnelClient(clientConfig);
        answers.printf(Locale.ROOT, "{\"engine_start_seconds\": %.3f}%n", secondsSince(started));
        answers.flush();
        BufferedReader jobs = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        for (String job = jobs.readLine(); job != null; job = jobs.readLine()) {
            if (!job.isBlank()) {
                String line = job.strip();
                if (line.startsWith(STREAM)) {
                    stream(client, config, line.substring(STREAM.length()), jobs, answers);
                } else {
                    answers.println(run(client, config, line));
                }
                answers.flush();
            }
        }
        client.close();
        engine.shutdown();
        System.exit(0);
    }

    private static String run(SeaTunnelClient client, SeaTunnelConfig config, String line) {
        long started = System.nanoTime();
        String[] words = line.split("\t");
        String file = words[0];
        try {
            JobConfig job = new JobConfig();
            job.setName(Path.of(file).getFileName().toString());
            ClientJobProxy proxy = context(client, config, job, words).execute();
            JobResult result = proxy.waitForJobCompleteV2();
            double seconds = secondsSince(started);
            JobMetricsSummary counts = client.getJobMetricsSummary(proxy.getJobId());
            return answer(
                    file, result.getStatus().name(), seconds,
                    counts.getSourceReadCount(), counts.getSinkWriteCount(), result.getError());
        } catch (Exception | LinkageError failure) {
            return answer(file, "FAILED", secondsSince(started), 0, 0, failure.toString());
        }
    }

    private static void stream(
            SeaTunnelClient client, SeaTunnelConfig config, String file, BufferedReader lines, PrintStream answers)
            throws IOException {
        long started = System.nanoTime();
        try {
            JobConfig job = new JobConfig();
            job.setName(Path.of(file).getFileName().toString());
            ClientJobProxy proxy = client.createExecutionContext(file, job, config).execute();
            answers.println(answer(file, "SUBMITTED", secondsSince(started), 0, 0, null));
            answers.flush();
            String line = lines.readLine();
            if (line != null && !line.equals(CANCEL)) {
                throw new IllegalArgumentException("a job that streams can only be cancelled, not: " + line);
            }
            if (!proxy.getJobStatus().isEndState()) {
                proxy.cancelJob();
            }
            JobResult result = proxy.waitForJobCompleteV2();
            answers.println(answer(file, result.getStatus().name(), secondsSince(started), 0, 0, result.getError()));
        } catch (Exception | LinkageError failure) {
            answers.println(answer(file, "FAILED", secondsSince(started), 0, 0, failure.toString()));
        }
    }

    private static ClientJobExecutionEnvironment context(
            SeaTunnelClient client, SeaTunnelConfig config, JobConfig job, String[] words) {
        if (words.length == 1) {
            return client.createExecutionContext(words[0], job, config);
        }
        Long id = Long.valueOf(words[1]);
        return words.length == 2
                ? client.createExecutionContext(words[0], Collections.emptyList(), job, config, id)
                : client.restoreExecutionContext(words[0], job, config, id);
    }

    private static String answer(
            String file, String status, double seconds, long read, long written, String error) {
        return String.format(
                Locale.ROOT,
                "{\"job\": %s, \"status\": %s, \"seconds\": %.3f, \"read\": %d, \"written\": %d, \"error\": %s}",
                quoted(file), quoted(status), seconds, read, written, quoted(error == null ? "" : error));
    }

    private static String quoted(String text) {
        StringBuilder json = new StringBuilder("\"");
        for (char each : text.toCharArray()) {
            if (each == '"' || each == '\\') {
                json.append('\\').append(each);
            } else if (each < ' ') {
                json.append(String.format("\\u%04x", (int) each));
            } else {
                json.append(each);
            }
        }
        return json.append('"').toString();
    }

    private static double secondsSince(long start) {
        return (System.nanoTime() - start) / 1e9;
    }
}
