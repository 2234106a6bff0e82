import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStream;
import java.io.InputStreamReader;
import java.lang.management.ManagementFactory;
import java.lang.management.ThreadMXBean;
import java.util.ArrayList;
import java.util.Collection;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Properties;
import java.util.Set;
import java.util.SortedSet;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.UUID;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;
import org.apache.kafka.common.Cluster;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.utils.Time;
import org.apache.kafka.streams.processor.TaskId;
import org.apache.kafka.streams.processor.assignment.ApplicationState;
import org.apache.kafka.streams.processor.assignment.AssignmentConfigs;
import org.apache.kafka.streams.processor.assignment.KafkaStreamsAssignment;
import org.apache.kafka.streams.processor.assignment.KafkaStreamsState;
import org.apache.kafka.streams.processor.assignment.ProcessId;
import org.apache.kafka.streams.processor.assignment.TaskInfo;
import org.apache.kafka.streams.processor.assignment.TaskTopicPartition;
import org.apache.kafka.streams.processor.assignment.assignors.StickyTaskAssignor;
import org.apache.kafka.streams.processor.internals.assignment.ClientState;
import org.apache.kafka.streams.processor.internals.assignment.HighAvailabilityTaskAssignor;
import org.apache.kafka.streams.processor.internals.assignment.RackAwareTaskAssignor;
import org.apache.kafka.streams.state.HostInfo;

/**
 * Kafka Streams' task assignors, asked line by line, so that whoever asks can take turns with others:
 *
 *   version                                       ok KAFKA JAVA
 *   prepare ASSIGNOR STATE TASKS MEMBERS STANDBYS ok
 *   decide                                        ok NANOSECONDS
 *   end ASSIGNOR STATE TASKS MEMBERS STANDBYS     ok ROUNDS MOVES COLD
 *
 * ASSIGNOR is ha or sticky; STATE is one of package measure, of which drain is leave here: no assignor of Kafka Streams is told
 * that a member will leave. prepare makes the input of one round, decide decides it, once, and says what processor time that took.
 * end is for join and leave. It lets a group settle, lets the event happen (the member in the middle leaves) and goes on until the
 * assignor asks for no further round, every copy having caught up before each; it counts the rounds, the active tasks that changed
 * members, and those of them whose new member had no state that had caught up. What fails answers "error" and why. The process ends
 * with its input, whatever it is at.
 */
public class Streams {
  static final int SUBTOPOLOGIES = 10;
  static final long ACCEPTABLE_LAG = 10_000, NO_STATE = 1_000_000, RUNNING = -2;
  static final int WARMUPS = 2; // Kafka Streams' default
  static final int MOST_ROUNDS = 10_000;

  /** What one member has: what it runs, and copies that have caught up. */
  static class Member {
    Set<TaskId> active = new HashSet<>();
    Set<TaskId> standby = new HashSet<>();
  }

  /** The group between two rounds, by process. */
  static class Group {
    final Set<TaskId> tasks = new TreeSet<>();
    final TreeMap<ProcessId, Member> members = new TreeMap<>();
    final AssignmentConfigs configs;

    Group(int tasks, int members, int standbys) {
      for (int i = 0; i < tasks; i++) this.tasks.add(task(i, tasks));
      for (int m = 0; m < members; m++) this.members.put(process(m), new Member());
      configs = new AssignmentConfigs(ACCEPTABLE_LAG, WARMUPS, standbys, 600_000L, List.of());
    }

    /** Shares the tasks out as package measure does. */
    void share() {
      List<Member> all = new ArrayList<>(members.values());
      int n = all.size(), total = tasks.size();
      for (int i = 0; i < total; i++) {
        TaskId task = task(i, total);
        all.get(i % n).active.add(task);
        for (int k = 1; k <= configs.numStandbyReplicas(); k++) {
          Member other = all.get((i + k * (1 + i / n % Math.max(1, n - 1))) % n);
          if (!other.active.contains(task)) other.standby.add(task);
        }
      }
    }

    void happen(String state) {
      switch (state) {
        case "cold", "steady" -> {}
        case "join" -> members.put(process(members.size()), new Member());
        case "leave", "drain" -> members.pollFirstEntry();
        case "leave10" -> {
          for (int tenth = Math.max(1, members.size() / 10); tenth > 0; tenth--) members.pollFirstEntry();
        }
        default -> throw new IllegalArgumentException("no state is called " + state);
      }
    }
  }

  static TaskId task(int i, int tasks) {
    int partitions = tasks / SUBTOPOLOGIES;
    return new TaskId(i / partitions, i % partitions);
  }

  static ProcessId process(int m) {
    return new ProcessId(new UUID(0, m + 1));
  }

  /** What an assignor is given and what it answers. Making the input is not part of the time. */
  interface Round {
    void decide() throws Exception;

    boolean asksForMore();

    Map<ProcessId, Member> answer();
  }

  static Round round(String assignor, Group group) {
    return switch (assignor) {
      case "ha" -> new HighAvailability(group);
      case "sticky" -> new Sticky(group);
      default -> throw new IllegalArgumentException("no assignor is called " + assignor);
    };
  }

  /** The lags of one member: every task that is not listed has none of its state there, which saves an entry for each. */
  static class Lags extends HashMap<TaskId, Long> {
    Lags(Member member) {
      for (TaskId task : member.active) put(task, RUNNING);
      for (TaskId task : member.standby) put(task, 0L);
    }

    @Override
    public Long get(Object task) {
      return getOrDefault(task, NO_STATE);
    }
  }

  static class HighAvailability implements Round {
    final Group group;
    final Map<ProcessId, ClientState> clients = new TreeMap<>();
    final RackAwareTaskAssignor racks;
    boolean more;

    HighAvailability(Group group) {
      this.group = group;
      group.members.forEach(
          (id, m) -> clients.put(id, new ClientState(m.active, m.standby, new Lags(m), Map.of(), 1, id)));
      racks =
          new RackAwareTaskAssignor(
              Cluster.empty(), Map.of(), Map.of(), Map.of(), Map.of(), null, group.configs, Time.SYSTEM);
    }

    @Override
    public void decide() {
      more = new HighAvailabilityTaskAssignor().assign(clients, group.tasks, group.tasks, racks, group.configs);
    }

    @Override
    public boolean asksForMore() {
      return more;
    }

    @Override
    public Map<ProcessId, Member> answer() {
      Map<ProcessId, Member> answer = new HashMap<>();
      clients.forEach(
          (id, client) -> {
            Member m = new Member();
            m.active.addAll(client.activeTasks());
            m.standby.addAll(client.standbyTasks());
            answer.put(id, m);
          });
      return answer;
    }
  }

  /** The changelog of a task: the sticky assignor gives standbys to none without. */
  record Changelog(TopicPartition topicPartition) implements TaskTopicPartition {
    @Override
    public boolean isSource() {
      return false;
    }

    @Override
    public boolean isChangelog() {
      return true;
    }

    @Override
    public Optional<Set<String>> rackIds() {
      return Optional.empty();
    }
  }

  record Info(TaskId id, Set<TaskTopicPartition> topicPartitions) implements TaskInfo {
    Info(TaskId id) {
      this(id, Set.of(new Changelog(new TopicPartition("changelog-" + id.subtopology(), id.partition()))));
    }

    @Override
    public boolean isStateful() {
      return true;
    }

    @Override
    public Set<String> stateStoreNames() {
      return Set.of("store");
    }
  }

  record State(ProcessId processId, TreeSet<TaskId> active, TreeSet<TaskId> standby, Lags lags) implements KafkaStreamsState {
    @Override
    public int numProcessingThreads() {
      return 1;
    }

    @Override
    public SortedSet<String> consumerClientIds() {
      return new TreeSet<>(Set.of(processId.toString()));
    }

    @Override
    public SortedSet<TaskId> previousActiveTasks() {
      return active;
    }

    @Override
    public SortedSet<TaskId> previousStandbyTasks() {
      return standby;
    }

    @Override
    public long lagFor(TaskId task) {
      return lags.get(task);
    }

    @Override
    public SortedSet<TaskId> prevTasksByLag(String consumer) {
      TreeSet<TaskId> all = new TreeSet<>(active);
      all.addAll(standby);
      return all;
    }

    @Override
    public Map<TaskId, Long> statefulTasksToLagSums() {
      return lags;
    }

    @Override
    public Optional<HostInfo> hostInfo() {
      return Optional.empty();
    }

    @Override
    public Map<String, String> clientTags() {
      return Map.of();
    }

    @Override
    public Optional<String> rackId() {
      return Optional.empty();
    }
  }

  static class Sticky implements Round, ApplicationState {
    final Group group;
    final Map<ProcessId, KafkaStreamsState> states = new TreeMap<>();
    final Map<TaskId, TaskInfo> infos = new LinkedHashMap<>();
    Collection<KafkaStreamsAssignment> assignments;

    Sticky(Group group) {
      this.group = group;
      group.members.forEach(
          (id, m) -> states.put(id, new State(id, new TreeSet<>(m.active), new TreeSet<>(m.standby), new Lags(m))));
      for (TaskId task : group.tasks) infos.put(task, new Info(task));
    }

    @Override
    public Map<ProcessId, KafkaStreamsState> kafkaStreamsStates(boolean computeTaskLags) {
      return states;
    }

    @Override
    public AssignmentConfigs assignmentConfigs() {
      return group.configs;
    }

    @Override
    public Map<TaskId, TaskInfo> allTasks() {
      return infos;
    }

    @Override
    public void decide() {
      assignments = new StickyTaskAssignor().assign(this).assignment();
    }

    @Override
    public boolean asksForMore() {
      return false; // it moves a task at once, whatever state its new member has
    }

    @Override
    public Map<ProcessId, Member> answer() {
      Map<ProcessId, Member> answer = new HashMap<>();
      for (KafkaStreamsAssignment one : assignments) {
        Member m = new Member();
        one.tasks()
            .forEach(
                (id, task) ->
                    (task.type() == KafkaStreamsAssignment.AssignedTask.Type.ACTIVE ? m.active : m.standby).add(id));
        answer.put(one.processId(), m);
      }
      return answer;
    }
  }

  /** Every task must be active once, and have its standbys; warm-ups come on top. */
  static void check(Group group, Map<ProcessId, Member> answer) {
    Set<TaskId> active = new HashSet<>();
    int n = 0, standbys = 0;
    for (Member m : answer.values()) {
      active.addAll(m.active);
      n += m.active.size();
      standbys += m.standby.size();
    }
    if (n != group.tasks.size() || !active.equals(group.tasks))
      throw new IllegalStateException(n + " of " + group.tasks.size() + " tasks are active");
    if (standbys < n * group.configs.numStandbyReplicas())
      throw new IllegalStateException(standbys + " standbys of " + n + " tasks");
  }

  /** Processor time, without the collector's and the compiler's. */
  static final ThreadMXBean THREADS = ManagementFactory.getThreadMXBean();

  static Group prepared;
  static Round next;

  static void prepare(String assignor, String state, Group group) {
    if (!state.equals("cold")) group.share();
    group.happen(state);
    prepared = group;
    next = round(assignor, group);
    System.gc();
  }

  static long decide() throws Exception {
    Round round = next;
    next = null; // an assignor changes what it is given
    long start = THREADS.getCurrentThreadCpuTime();
    round.decide();
    long took = THREADS.getCurrentThreadCpuTime() - start;
    check(prepared, round.answer());
    return took;
  }

  /** Rounds, moves, and moves to a member without the state. */
  static int[] settle(String assignor, Group group) throws Exception {
    int rounds = 0, moves = 0, cold = 0;
    for (boolean more = true; more; ) {
      if (++rounds > MOST_ROUNDS) throw new IllegalStateException("not settled in " + MOST_ROUNDS + " rounds");
      Round round = round(assignor, group);
      round.decide();
      check(group, round.answer());
      more = round.asksForMore();
      for (Map.Entry<ProcessId, Member> to : round.answer().entrySet()) {
        Member before = group.members.get(to.getKey());
        for (TaskId task : to.getValue().active) {
          if (before.active.contains(task)) continue;
          moves++;
          if (!before.standby.contains(task)) cold++;
        }
      }
      group.members.putAll(round.answer());
      if (rounds % 100 == 0) System.err.println("  " + assignor + ": " + rounds + " rounds, " + moves + " moves so far");
    }
    return new int[] {rounds, moves, cold};
  }

  static String end(String assignor, String state, Group group) throws Exception {
    settle(assignor, group);
    switch (state) {
      case "join" -> group.happen(state);
      case "leave" -> group.members.remove(process(group.members.size() / 2));
      default -> throw new IllegalArgumentException("there is no end for the state " + state);
    }
    int[] counts = settle(assignor, group);
    return counts[0] + " " + counts[1] + " " + counts[2];
  }

  /** The version, which the library has in a file. */
  static String kafka() throws IOException {
    Properties properties = new Properties();
    try (InputStream in = StickyTaskAssignor.class.getResourceAsStream("/kafka/kafka-streams-version.properties")) {
      if (in != null) properties.load(in);
    }
    return properties.getProperty("version", "unknown");
  }

  static String answer(String[] request) throws Exception {
    switch (request[0]) {
      case "version":
        return kafka() + " " + System.getProperty("java.version");
      case "decide":
        return Long.toString(decide());
    }
    Group group = new Group(Integer.parseInt(request[3]), Integer.parseInt(request[4]), Integer.parseInt(request[5]));
    switch (request[0]) {
      case "prepare":
        prepare(request[1], request[2], group);
        return "";
      case "end":
        return end(request[1], request[2], group);
      default:
        throw new IllegalArgumentException("no command is called " + request[0]);
    }
  }

  /** Reads on while an answer is being found, so that the end of the input is seen at once. */
  static BlockingQueue<String> requests() {
    BlockingQueue<String> requests = new LinkedBlockingQueue<>();
    Thread reader =
        new Thread(
            () -> {
              new BufferedReader(new InputStreamReader(System.in)).lines().forEach(requests::add);
              Runtime.getRuntime().halt(0);
            });
    reader.setDaemon(true);
    reader.start();
    return requests;
  }

  public static void main(String[] args) throws Exception {
    for (BlockingQueue<String> requests = requests(); ; ) {
      String answer;
      try {
        answer = "ok " + answer(requests.take().trim().split(" +"));
      } catch (Throwable e) {
        answer = "error " + String.valueOf(e).replace('\n', ' ');
      }
      System.out.println(answer);
    }
  }
}
